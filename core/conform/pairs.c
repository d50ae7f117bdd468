#include "conform/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
  MET = 1,  /* two values stand in a combination, or never can */
  NOTED = 2 /* they are among the pairs of the result */
};

typedef struct coverer {
  const ph_factor *factors;
  uint32_t factor_count, level, level_count;
  bool (*allowed)(void *user, const uint32_t *values);
  void *user;
  uint32_t *first;   /* by factor: the number of its first value among all values */
  uint32_t total;    /* values of all factors */
  uint8_t *met;      /* total * total: MET, NOTED */
  uint32_t *used;    /* by value: in how many combinations */
  uint32_t *values;  /* the combination being made */
  uint32_t *attempt; /* scratch for can_complete() */
} coverer;

/* Whether the values chosen so far can be completed at this level; a search with little depth, for few factors have
 * rules. */
static bool can_complete(coverer *c, uint32_t *values, uint32_t from) {
  if (!c->allowed(c->user, values)) return false;
  while (from < c->factor_count && values[from] != PH_NONE) from++;
  if (from == c->factor_count) return true;
  for (uint32_t v = 0; v < c->factors[from].count; v++) {
    if (c->factors[from].level[v] > c->level) continue;
    values[from] = v;
    bool complete = can_complete(c, values, from + 1);
    values[from] = PH_NONE;
    if (complete) return true;
  }
  return false;
}

static bool fits(coverer *c, uint32_t factor, uint32_t value) {
  memcpy(c->attempt, c->values, c->factor_count * sizeof(*c->values));
  c->attempt[factor] = value;
  return can_complete(c, c->attempt, 0);
}

static uint8_t *met(coverer *c, uint32_t f, uint32_t v, uint32_t g, uint32_t w) {
  uint32_t a = c->first[f] + v, b = c->first[g] + w;
  return &c->met[(size_t)(a < b ? a : b) * c->total + (a < b ? b : a)];
}

/* How many pairs with what is chosen already this value would bring. */
static uint32_t gain(coverer *c, uint32_t factor, uint32_t value) {
  uint32_t count = 0;
  for (uint32_t g = 0; g < c->factor_count; g++)
    if (g != factor && c->values[g] != PH_NONE && !(*met(c, factor, value, g, c->values[g]) & MET)) count++;
  return count;
}

/* The value that brings most; of several the one used least, then the first. */
static void choose(coverer *c, uint32_t factor) {
  uint32_t best = PH_NONE, best_gain = 0, best_used = 0;
  for (uint32_t v = 0; v < c->factors[factor].count; v++) {
    if (c->factors[factor].level[v] > c->level) continue;
    uint32_t brings = gain(c, factor, v), used = c->used[c->first[factor] + v];
    if (best != PH_NONE && (brings < best_gain || (brings == best_gain && used >= best_used))) continue;
    if (!fits(c, factor, v)) continue;
    best = v;
    best_gain = brings;
    best_used = used;
  }
  c->values[factor] = best; /* there is one: what is chosen so far can be completed */
}

/* Takes over the costly values of an earlier combination `from` where they agree with what is chosen and can be
 * completed; false, with nothing changed, where not. */
static bool try_costly(coverer *c, const uint32_t *from, uint32_t *out_gain) {
  memcpy(c->attempt, c->values, c->factor_count * sizeof(*c->values));
  *out_gain = 0;
  for (uint32_t f = 0; f < c->factor_count; f++) {
    if (!c->factors[f].costly) continue;
    if (c->values[f] != PH_NONE && c->values[f] != from[f]) return false;
    if (c->values[f] == PH_NONE) *out_gain += gain(c, f, from[f]);
    c->attempt[f] = from[f];
  }
  return can_complete(c, c->attempt, 0);
}

static void choose_costly(coverer *c, const ph_cover *cover) {
  const uint32_t *best = NULL;
  uint32_t best_gain = 0, brings;
  for (uint32_t i = 0; i < cover->count; i++) {
    const uint32_t *from = &cover->values[i * c->factor_count];
    if (!try_costly(c, from, &brings) || (best != NULL && brings <= best_gain)) continue;
    best = from;
    best_gain = brings;
  }
  for (uint32_t f = 0; best != NULL && f < c->factor_count; f++)
    if (c->factors[f].costly) c->values[f] = best[f];
}

static ph_status keep(coverer *c, ph_arena *arena, ph_cover *out, ph_error *error) {
  for (uint32_t f = 0; f < c->factor_count; f++) {
    uint32_t *value = ph_arena_push(arena, &out->values, &out->value_count, &out->value_capacity, sizeof(*value));
    if (value == NULL) return ph_fail_memory(error);
    *value = c->values[f];
    c->used[c->first[f] + c->values[f]]++;
    for (uint32_t g = 0; g < f; g++) *met(c, f, c->values[f], g, c->values[g]) |= MET;
  }
  uint32_t *level = ph_arena_push(arena, &out->levels, &out->count, &out->level_capacity, sizeof(*level));
  if (level == NULL) return ph_fail_memory(error);
  *level = c->level;
  return PH_OK;
}

/* One pair: noted, and covered unless it is already or cannot be. */
static ph_status cover(coverer *c, const uint32_t factor[2], const uint32_t value[2], ph_arena *arena, ph_cover *out,
                       ph_error *error) {
  uint8_t *state = met(c, factor[0], value[0], factor[1], value[1]);
  if (*state & NOTED) return PH_OK;
  for (uint32_t f = 0; f < c->factor_count; f++) c->values[f] = PH_NONE;
  c->values[factor[0]] = value[0];
  if (!fits(c, factor[1], value[1])) { /* perhaps with the values of the next level */
    if (c->level + 1 < c->level_count) return PH_OK;
    *state = MET | NOTED;
    out->impossible++;
    return PH_OK;
  }
  *state |= NOTED;
  ph_value_pair *pair = ph_arena_push(arena, &out->pairs, &out->pair_count, &out->pair_capacity, sizeof(*pair));
  if (pair == NULL) return ph_fail_memory(error);
  *pair = (ph_value_pair){{factor[0], factor[1]}, {value[0], value[1]}, c->level};
  if (*state & MET) return PH_OK;
  c->values[factor[1]] = value[1];
  choose_costly(c, out);
  for (uint32_t f = 0; f < c->factor_count; f++)
    if (c->values[f] == PH_NONE) choose(c, f);
  return keep(c, arena, out, error);
}

/* `costly`: the pairs of two costly factors, else all the others. */
static ph_status cover_level(coverer *c, bool costly, ph_arena *arena, ph_cover *out, ph_error *error) {
  for (uint32_t f = 0; f < c->factor_count; f++)
    for (uint32_t g = f + 1; g < c->factor_count; g++)
      for (uint32_t v = 0; v < c->factors[f].count; v++)
        for (uint32_t w = 0; w < c->factors[g].count; w++) {
          uint32_t a = c->factors[f].level[v], b = c->factors[g].level[w];
          if (a <= c->level && b <= c->level && (c->factors[f].costly && c->factors[g].costly) == costly)
            PH_TRY(cover(c, (uint32_t[]){f, g}, (uint32_t[]){v, w}, arena, out, error));
        }
  return PH_OK;
}

ph_status ph_pairs_cover(const ph_factor *factors, uint32_t factor_count, uint32_t level_count,
                         bool (*allowed)(void *user, const uint32_t *values), void *user, ph_arena *arena,
                         ph_cover *out, ph_error *error) {
  coverer c = {
      .factors = factors, .factor_count = factor_count, .level_count = level_count, .allowed = allowed, .user = user};
  c.first = ph_new_array(factor_count, sizeof(*c.first));
  for (uint32_t f = 0; c.first != NULL && f < factor_count; f++) {
    c.first[f] = c.total;
    c.total += factors[f].count;
  }
  c.met = ph_new_array((size_t)c.total * c.total, sizeof(*c.met));
  c.used = ph_new_array(c.total, sizeof(*c.used));
  c.values = ph_new_array(factor_count, sizeof(*c.values));
  c.attempt = ph_new_array(factor_count, sizeof(*c.attempt));
  *out = (ph_cover){0};
  ph_status status = c.first != NULL && c.met != NULL && c.used != NULL && c.values != NULL && c.attempt != NULL
                         ? PH_OK
                         : ph_fail_memory(error);
  for (; status == PH_OK && c.level < level_count; c.level++) {
    status = cover_level(&c, true, arena, out, error);
    if (status == PH_OK) status = cover_level(&c, false, arena, out, error);
  }
  free(c.first);
  free(c.met);
  free(c.used);
  free(c.values);
  free(c.attempt);
  return status;
}
