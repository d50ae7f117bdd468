/* From libyaml's events to a tree, with our own limits and our own places in messages; see yaml.h. */
#include "config/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "config/names.h"

typedef struct level {
  ph_yaml *node;
  const char *key; /* MAP: the key that waits for its value */
  ph_place key_place;
} level;

typedef struct reader {
  yaml_parser_t parser;
  ph_arena *arena;
  const char *file;
  const char *bytes;
  size_t size;
  level levels[PH_YAML_MAX_DEPTH];
  uint32_t depth;
  ph_yaml *root;
  ph_error *error;
} reader;

static ph_place place_of(const reader *r, yaml_mark_t mark) {
  return (ph_place){r->file, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* ---- libyaml's own errors ---- */

/* libyaml reports bad bytes by offset alone. */
static ph_place place_at_offset(const reader *r, size_t offset) {
  ph_place place = {r->file, 1, 1};
  for (size_t i = 0; i < offset && i < r->size; i++) {
    if (r->bytes[i] == '\n') {
      place.line++;
      place.column = 1;
    } else if (((unsigned char)r->bytes[i] & 0xC0) != 0x80) {
      place.column++;
    }
  }
  return place;
}

/* The text from a mark on; libyaml counts characters, not bytes. */
static const char *text_at(const reader *r, yaml_mark_t mark) {
  const char *at = r->bytes, *end = r->bytes + r->size;
  for (size_t line = 0; line < mark.line && at < end; at++) line += *at == '\n';
  for (size_t column = 0; column < mark.column && at < end; column++) do
      at++;
    while (at < end && ((unsigned char)*at & 0xC0) == 0x80);
  return at;
}

/* What the writer most likely meant, where libyaml's message does not say. */
static const char *hint(const reader *r, const char *context, yaml_mark_t mark) {
  const char *at = text_at(r, mark), *end = r->bytes + r->size;
  if (at < end && *at == '\t') return "; YAML takes no tabs for indentation";
  bool in_flow = context != NULL && strstr(context, "flow") != NULL;
  const char *before = at;
  while (before > r->bytes && (before[-1] == ' ' || before[-1] == '\n')) before--;
  if (in_flow && ((at < end && *at == '{') || (before > r->bytes && before[-1] == '}')))
    return "; inside { } and [ ] text that holds braces needs quotes: \"layers.{i}.\"";
  return "";
}

static ph_status fail_in_libyaml(reader *r) {
  const yaml_parser_t *p = &r->parser;
  const char *problem = p->problem != NULL ? p->problem : "cannot be read";
  switch (p->error) {
  case YAML_MEMORY_ERROR:
    return ph_fail_memory(r->error);
  case YAML_READER_ERROR:
    return ph_fail_at(r->error, place_at_offset(r, p->problem_offset), "%s (byte 0x%02x); a config is plain UTF-8 text",
                      problem, (unsigned char)r->bytes[p->problem_offset < r->size ? p->problem_offset : 0]);
  default:
    if (p->context == NULL)
      return ph_fail_at(r->error, place_of(r, p->problem_mark), "%s%s", problem, hint(r, NULL, p->problem_mark));
    return ph_fail_at(r->error, place_of(r, p->problem_mark), "%s, %s that begins at line %u%s", problem, p->context,
                      (unsigned)p->context_mark.line + 1, hint(r, p->context, p->problem_mark));
  }
}

/* ---- events to nodes ---- */

static ph_status make_node(reader *r, ph_yaml_kind kind, yaml_mark_t mark, ph_yaml **out) {
  *out = ph_arena_alloc(r->arena, sizeof(**out));
  if (*out == NULL) return ph_fail_memory(r->error);
  (*out)->kind = kind;
  (*out)->place = place_of(r, mark);
  (*out)->size = 1;
  return PH_OK;
}

static ph_status add_key(reader *r, level *top, const ph_yaml *key) {
  if (key->kind != PH_YAML_SCALAR) return ph_fail_at(r->error, key->place, "a key must be a name");
  if (key->text[0] == '\0') return ph_fail_at(r->error, key->place, "a key is empty");
  if (key->plain && strcmp(key->text, "<<") == 0)
    return ph_fail_at(r->error, key->place, "merge keys are not taken: write the entries out");
  top->key = key->text;
  top->key_place = key->place;
  return PH_OK;
}

/* Hangs a node into the one that is open, or makes it the root. */
static ph_status attach(reader *r, ph_yaml *node) {
  if (r->depth == 0) {
    r->root = node;
    return PH_OK;
  }
  level *top = &r->levels[r->depth - 1];
  ph_yaml *parent = top->node;
  if (parent->kind == PH_YAML_LIST) {
    ph_yaml **slot = ph_arena_push(r->arena, &parent->items, &parent->count, &parent->capacity, sizeof(*slot));
    if (slot == NULL) return ph_fail_memory(r->error);
    *slot = node;
    return PH_OK;
  }
  if (top->key == NULL) return add_key(r, top, node);
  ph_yaml_pair *pair = ph_arena_push(r->arena, &parent->pairs, &parent->count, &parent->capacity, sizeof(*pair));
  if (pair == NULL) return ph_fail_memory(r->error);
  *pair = (ph_yaml_pair){top->key, top->key_place, node};
  top->key = NULL;
  return PH_OK;
}

static ph_status open_node(reader *r, ph_yaml_kind kind, yaml_mark_t mark) {
  ph_yaml *node;
  PH_TRY(make_node(r, kind, mark, &node));
  if (r->depth == PH_YAML_MAX_DEPTH)
    return ph_fail_at(r->error, node->place, "nested deeper than %d levels", PH_YAML_MAX_DEPTH);
  PH_TRY(attach(r, node));
  r->levels[r->depth++] = (level){.node = node};
  return PH_OK;
}

static ph_status fail_duplicate(reader *r, const ph_yaml_pair *first, const ph_yaml_pair *second) {
  return ph_fail_at(r->error, second->place, "'%s' stands here a second time; the first is at line %u", second->key,
                    first->place.line);
}

static ph_status check_duplicates(reader *r, const ph_yaml *map) {
  enum { FEW = 16 };
  if (map->count <= FEW) {
    for (uint32_t i = 1; i < map->count; i++)
      for (uint32_t j = 0; j < i; j++)
        if (strcmp(map->pairs[i].key, map->pairs[j].key) == 0) return fail_duplicate(r, &map->pairs[j], &map->pairs[i]);
    return PH_OK;
  }
  ph_arena scratch = {0};
  ph_names names = {0};
  ph_status status = PH_OK;
  for (uint32_t i = 0; status == PH_OK && i < map->count; i++) {
    uint32_t first = ph_names_find(&names, map->pairs[i].key);
    if (first != PH_NONE)
      status = fail_duplicate(r, &map->pairs[first], &map->pairs[i]);
    else if (!ph_names_add(&names, &scratch, map->pairs[i].key, i))
      status = ph_fail_memory(r->error);
  }
  ph_arena_free(&scratch);
  return status;
}

static ph_status close_node(reader *r) {
  ph_yaml *node = r->levels[--r->depth].node;
  if (node->kind == PH_YAML_MAP) PH_TRY(check_duplicates(r, node));
  for (uint32_t i = 0; i < node->count; i++)
    node->size += node->kind == PH_YAML_MAP ? node->pairs[i].value->size : node->items[i]->size;
  return PH_OK;
}

static ph_status add_scalar(reader *r, const yaml_event_t *event) {
  const char *text = (const char *)event->data.scalar.value;
  size_t length = event->data.scalar.length;
  ph_yaml *node;
  PH_TRY(make_node(r, PH_YAML_SCALAR, event->start_mark, &node));
  if (memchr(text, '\0', length) != NULL) return ph_fail_at(r->error, node->place, "the text holds a NUL character");
  node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  node->text = ph_arena_copy(r->arena, text, length);
  return node->text != NULL ? attach(r, node) : ph_fail_memory(r->error);
}

static ph_status check_marks(reader *r, yaml_mark_t mark, const yaml_char_t *anchor, const yaml_char_t *tag) {
  if (anchor != NULL)
    return ph_fail_at(r->error, place_of(r, mark), "anchors are not taken: write '&%s' out where it is used",
                      (const char *)anchor);
  if (tag != NULL)
    return ph_fail_at(r->error, place_of(r, mark), "tags are not taken: leave '%s' away", (const char *)tag);
  return PH_OK;
}

static ph_status take(reader *r, const yaml_event_t *event) {
  switch (event->type) {
  case YAML_DOCUMENT_START_EVENT:
    if (r->root != NULL)
      return ph_fail_at(r->error, place_of(r, event->start_mark), "a second document begins here; a config is one");
    return PH_OK;
  case YAML_ALIAS_EVENT:
    return ph_fail_at(r->error, place_of(r, event->start_mark),
                      "aliases are not taken: write out what '*%s' stands for", (const char *)event->data.alias.anchor);
  case YAML_SCALAR_EVENT:
    PH_TRY(check_marks(r, event->start_mark, event->data.scalar.anchor, event->data.scalar.tag));
    return add_scalar(r, event);
  case YAML_SEQUENCE_START_EVENT:
    PH_TRY(check_marks(r, event->start_mark, event->data.sequence_start.anchor, event->data.sequence_start.tag));
    return open_node(r, PH_YAML_LIST, event->start_mark);
  case YAML_MAPPING_START_EVENT:
    PH_TRY(check_marks(r, event->start_mark, event->data.mapping_start.anchor, event->data.mapping_start.tag));
    return open_node(r, PH_YAML_MAP, event->start_mark);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    return close_node(r);
  default:
    return PH_OK;
  }
}

ph_status ph_yaml_parse(ph_arena *arena, const char *file, const void *bytes, size_t size, ph_yaml **out,
                        ph_error *error) {
  reader r = {.arena = arena, .file = file, .bytes = bytes, .size = size, .error = error};
  if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark */
    r.bytes += 3;
    r.size -= 3;
  }
  if (r.size == 0) return ph_fail(error, PH_INVALID, "%s:1:1: error: the file is empty", file);
  if (r.size > PH_YAML_MAX_BYTES)
    return ph_fail(error, PH_INVALID,
                   "%s: error: the file has %zu bytes, and a config at most %d; keep tensors in .npy files", file,
                   r.size, PH_YAML_MAX_BYTES);
  if (!yaml_parser_initialize(&r.parser)) return ph_fail_memory(error);
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.bytes, r.size);
  ph_status status = PH_OK;
  for (bool more = true; more && status == PH_OK;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&r.parser, &event)) {
      status = fail_in_libyaml(&r);
      break;
    }
    status = take(&r, &event);
    more = event.type != YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&r.parser);
  if (status == PH_OK && r.root == NULL)
    return ph_fail(error, PH_INVALID, "%s:1:1: error: the file holds nothing but comments", file);
  *out = r.root;
  return status;
}

/* ---- reading the tree ---- */

const ph_yaml_pair *ph_yaml_find(const ph_yaml *map, const char *key) {
  for (uint32_t i = 0; i < map->count; i++)
    if (strcmp(map->pairs[i].key, key) == 0) return &map->pairs[i];
  return NULL;
}

ph_yaml *ph_yaml_get(const ph_yaml *map, const char *key) {
  const ph_yaml_pair *pair = ph_yaml_find(map, key);
  return pair != NULL ? pair->value : NULL;
}

bool ph_yaml_is_null(const ph_yaml *node) {
  return node->kind == PH_YAML_SCALAR && node->plain && (node->text[0] == '\0' || strcmp(node->text, "null") == 0);
}

bool ph_yaml_boolean(const ph_yaml *node, bool *out) {
  if (node->kind != PH_YAML_SCALAR || !node->plain) return false;
  *out = strcmp(node->text, "true") == 0;
  return *out || strcmp(node->text, "false") == 0;
}

bool ph_yaml_number(const ph_yaml *node, ph_number *out) {
  return node->kind == PH_YAML_SCALAR && node->plain && ph_number_parse(node->text, out);
}

const char *ph_yaml_describe(const ph_yaml *node, ph_arena *arena) {
  if (node->kind == PH_YAML_LIST) return "a list";
  if (node->kind == PH_YAML_MAP) return "a mapping";
  if (ph_yaml_is_null(node)) return "nothing";
  const char *text = ph_arena_text(arena, "'%s'", node->text);
  return text != NULL ? text : "something else";
}
