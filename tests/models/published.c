/* published MODEL CONFIG DEVICE: a config of configs/models reads weights under their published key names, in every
 * spelling that is in use, and gives what a forward pass written here from the papers gives, within 1e-4.  MODEL is
 * bert, gpt2 or vit; the weights are made up and small. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forward.h"

static const double within = 1e-4;

/* A name of a layer's part, in one of a few buffers. */
static const char *part(const char *layers, int64_t layer, const char *name) {
  static char rooms[16][WEIGHTS_NAME];
  static int next;
  char *room = rooms[next++ % 16];
  snprintf(room, WEIGHTS_NAME, "%s%d.%s", layers, (int)layer, name);
  return room;
}

/* An input and what it holds; values of an output. */
typedef struct given {
  const char *name;
  ph_tensor *tensor;
} given;
typedef struct answer {
  const char *name;
  const double *values;
  int64_t count;
} answer;

/* One model: how its config is made small, its spellings, what goes in and what must come out. */
typedef struct trial {
  const char *dims[8];
  uint32_t dim_count;
  const char *prefixes[2];
  uint32_t prefix_count;
  bool old_norms; /* they occur, too */
  weights w;
  given inputs[3];
  uint32_t input_count;
  answer outputs[2];
  uint32_t output_count;
} trial;

static ph_tensor *add_input(trial *t, const char *name, ph_dtype dtype, uint32_t rank, const int64_t *dims) {
  ph_error error = {.struct_size = sizeof(error)};
  given *input = &t->inputs[t->input_count++];
  input->name = name;
  if (ph_tensor_create(dtype, rank, dims, &input->tensor, &error) != PH_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  return input->tensor;
}

static void expect(trial *t, const char *name, const double *values, int64_t count) {
  t->outputs[t->output_count++] = (answer){name, values, count};
}

/* The row of a table for each id is added to x. */
static void add_rows(const weights *w, const char *name, const int64_t *ids, int64_t count, int64_t width, double *x) {
  const float *table = weights_get(w, name, "")->data;
  for (int64_t i = 0; i < count; i++)
    for (int64_t d = 0; d < width; d++) x[i * width + d] += table[ids[i] * width + d];
}

/* ---- BERT: Devlin et al. 2018, appendix A; norms behind the sub-layers ---- */

static void make_bert(trial *t) {
  enum { B = 2, S = 7, MODEL = 16, HEADS = 4, LAYERS = 3, VOCAB = 23, PLACES = 12 };
  static const char layers[] = "encoder.layer.";
  *t = (trial){.dims = {"model=16", "heads=4", "layers=3", "vocab=23", "positions=12"},
               .dim_count = 5,
               .prefixes = {"", "bert."},
               .prefix_count = 2,
               .old_norms = true};
  weights *w = &t->w;
  weights_add(w, "embeddings.word_embeddings.weight", 0, 1, 2, (const int64_t[]){VOCAB, MODEL});
  weights_add(w, "embeddings.position_embeddings.weight", 0, 1, 2, (const int64_t[]){PLACES, MODEL});
  weights_add(w, "embeddings.token_type_embeddings.weight", 0, 1, 2, (const int64_t[]){2, MODEL});
  weights_add_norm(w, "embeddings.LayerNorm", MODEL);
  for (int64_t l = 0; l < LAYERS; l++) {
    weights_add_linear(w, part(layers, l, "attention.self.query"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.self.key"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.self.value"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.output.dense"), MODEL, MODEL, false);
    weights_add_norm(w, part(layers, l, "attention.output.LayerNorm"), MODEL);
    weights_add_linear(w, part(layers, l, "intermediate.dense"), MODEL, 4 * MODEL, false);
    weights_add_linear(w, part(layers, l, "output.dense"), 4 * MODEL, MODEL, false);
    weights_add_norm(w, part(layers, l, "output.LayerNorm"), MODEL);
  }
  weights_add_linear(w, "pooler.dense", MODEL, MODEL, false); /* of no use here */

  const int64_t dims[] = {B, S};
  int64_t *ids = add_input(t, "ids", PH_I64, 2, dims)->data;
  int64_t *types = add_input(t, "token_types", PH_I64, 2, dims)->data;
  bool *mask = add_input(t, "attention_mask", PH_BOOL, 2, dims)->data, seen[B * S];
  int64_t places[B * S];
  for (int64_t i = 0; i < B * S; i++) {
    ids[i] = i * 5 % VOCAB;
    types[i] = i % S > 2;
    places[i] = i % S;
    seen[i] = mask[i] = i < S || i % S < 4; /* the second sentence is shorter */
  }

  double *x = forward_room(B * S * MODEL);
  add_rows(w, "embeddings.word_embeddings.weight", ids, B * S, MODEL, x);
  add_rows(w, "embeddings.position_embeddings.weight", places, B * S, MODEL, x);
  add_rows(w, "embeddings.token_type_embeddings.weight", types, B * S, MODEL, x);
  x = forward_norm(w, "embeddings.LayerNorm", x, B * S, 1e-12);
  const forward_heads heads = {B, S, HEADS, MODEL / HEADS, MODEL, seen, false};
  for (int64_t l = 0; l < LAYERS; l++) {
    double *q = forward_linear(w, part(layers, l, "attention.self.query"), x, B * S, false);
    double *k = forward_linear(w, part(layers, l, "attention.self.key"), x, B * S, false);
    double *v = forward_linear(w, part(layers, l, "attention.self.value"), x, B * S, false);
    double *mixed = forward_attention(&heads, q, k, v);
    mixed = forward_linear(w, part(layers, l, "attention.output.dense"), mixed, B * S, false);
    x = forward_norm(w, part(layers, l, "attention.output.LayerNorm"), forward_add(x, mixed, B * S * MODEL), B * S,
                     1e-12);
    double *wide = forward_linear(w, part(layers, l, "intermediate.dense"), x, B * S, false);
    double *bent = forward_gelu(wide, B * S * 4 * MODEL, false);
    double *change = forward_linear(w, part(layers, l, "output.dense"), bent, B * S, false);
    x = forward_norm(w, part(layers, l, "output.LayerNorm"), forward_add(x, change, B * S * MODEL), B * S, 1e-12);
  }
  expect(t, "tokens", x, B * S * MODEL);
  double *sentence = forward_room(B * MODEL);
  for (int64_t b = 0; b < B; b++) {
    double length = 0; /* as only the direction counts, the sum does for the mean */
    for (int64_t i = 0; i < S * MODEL; i++)
      if (seen[b * S + i / MODEL]) sentence[b * MODEL + i % MODEL] += x[b * S * MODEL + i];
    for (int64_t d = 0; d < MODEL; d++) length += pow(sentence[b * MODEL + d], 2);
    for (int64_t d = 0; d < MODEL; d++) sentence[b * MODEL + d] /= sqrt(length);
  }
  expect(t, "sentence", sentence, B * MODEL);
}

/* ---- GPT-2: Radford et al. 2019, section 2.3; norms before the sub-layers, weights as [in, out] ---- */

static void make_gpt2(trial *t) {
  enum { B = 2, S = 6, MODEL = 16, HEADS = 4, LAYERS = 2, VOCAB = 29, PLACES = 16 };
  static const char layers[] = "h.";
  *t = (trial){.dims = {"model=16", "heads=4", "layers=2", "vocab=29", "positions=16", "cache=16"},
               .dim_count = 6,
               .prefixes = {"", "transformer."},
               .prefix_count = 2};
  weights *w = &t->w;
  weights_add(w, "wte.weight", 0, 1, 2, (const int64_t[]){VOCAB, MODEL});
  weights_add(w, "wpe.weight", 0, 1, 2, (const int64_t[]){PLACES, MODEL});
  weights_add_norm(w, "ln_f", MODEL);
  for (int64_t l = 0; l < LAYERS; l++) {
    weights_add_norm(w, part(layers, l, "ln_1"), MODEL);
    weights_add_linear(w, part(layers, l, "attn.c_attn"), MODEL, 3 * MODEL, true);
    weights_add_linear(w, part(layers, l, "attn.c_proj"), MODEL, MODEL, true);
    weights_add_norm(w, part(layers, l, "ln_2"), MODEL);
    weights_add_linear(w, part(layers, l, "mlp.c_fc"), MODEL, 4 * MODEL, true);
    weights_add_linear(w, part(layers, l, "mlp.c_proj"), 4 * MODEL, MODEL, true);
    weights_add(w, part(layers, l, "attn.bias"), 1, 0, 4, (const int64_t[]){1, 1, PLACES, PLACES}); /* a mask */
  }

  int64_t *ids = add_input(t, "ids", PH_I64, 2, (const int64_t[]){B, S})->data, places[B * S];
  for (int64_t i = 0; i < B * S; i++) {
    ids[i] = i * 11 % VOCAB;
    places[i] = i % S;
  }

  double *x = forward_room(B * S * MODEL);
  add_rows(w, "wte.weight", ids, B * S, MODEL, x);
  add_rows(w, "wpe.weight", places, B * S, MODEL, x);
  const forward_heads heads = {B, S, HEADS, MODEL / HEADS, 3 * MODEL, NULL, true};
  for (int64_t l = 0; l < LAYERS; l++) {
    double *normed = forward_norm(w, part(layers, l, "ln_1"), x, B * S, 1e-5);
    double *qkv = forward_linear(w, part(layers, l, "attn.c_attn"), normed, B * S, true);
    double *mixed = forward_attention(&heads, qkv, qkv + MODEL, qkv + 2 * MODEL);
    mixed = forward_linear(w, part(layers, l, "attn.c_proj"), mixed, B * S, true);
    x = forward_add(x, mixed, B * S * MODEL);
    normed = forward_norm(w, part(layers, l, "ln_2"), x, B * S, 1e-5);
    double *wide = forward_linear(w, part(layers, l, "mlp.c_fc"), normed, B * S, true);
    double *change =
        forward_linear(w, part(layers, l, "mlp.c_proj"), forward_gelu(wide, B * S * 4 * MODEL, true), B * S, true);
    x = forward_add(x, change, B * S * MODEL);
  }
  x = forward_norm(w, "ln_f", x, B * S, 1e-5);
  double *logits = forward_room(B * S * VOCAB);
  const float *table = weights_get(w, "wte.weight", "")->data;
  for (int64_t i = 0; i < B * S; i++)
    for (int64_t word = 0; word < VOCAB; word++)
      for (int64_t d = 0; d < MODEL; d++) logits[i * VOCAB + word] += x[i * MODEL + d] * table[word * MODEL + d];
  expect(t, "logits", logits, B * S * VOCAB);
}

/* ---- ViT: Dosovitskiy et al. 2020, section 3.1 ---- */

static void make_vit(trial *t) {
  enum { B = 2, GRID = 3, PATCH = 4, SIDE = GRID * PATCH, COLOURS = 3, PIXELS = COLOURS * PATCH * PATCH };
  enum { S = GRID * GRID + 1, MODEL = 16, HEADS = 2, LAYERS = 2, CLASSES = 5 };
  static const char layers[] = "vit.encoder.layer.", projection[] = "vit.embeddings.patch_embeddings.projection";
  *t = (trial){.dims = {"grid=3", "patch=4", "model=16", "heads=2", "layers=2", "classes=5"},
               .dim_count = 6,
               .prefixes = {""},
               .prefix_count = 1};
  weights *w = &t->w;
  weights_add(w, "vit.embeddings.cls_token", 0, 1, 3, (const int64_t[]){1, 1, MODEL});
  weights_add(w, "vit.embeddings.position_embeddings", 0, 1, 3, (const int64_t[]){1, S, MODEL});
  weights_add(w, "vit.embeddings.patch_embeddings.projection.weight", 0, 0.5, 4,
              (const int64_t[]){MODEL, COLOURS, PATCH, PATCH});
  weights_add(w, "vit.embeddings.patch_embeddings.projection.bias", 0, 0.5, 1, (const int64_t[]){MODEL});
  for (int64_t l = 0; l < LAYERS; l++) {
    weights_add_norm(w, part(layers, l, "layernorm_before"), MODEL);
    weights_add_linear(w, part(layers, l, "attention.attention.query"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.attention.key"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.attention.value"), MODEL, MODEL, false);
    weights_add_linear(w, part(layers, l, "attention.output.dense"), MODEL, MODEL, false);
    weights_add_norm(w, part(layers, l, "layernorm_after"), MODEL);
    weights_add_linear(w, part(layers, l, "intermediate.dense"), MODEL, 4 * MODEL, false);
    weights_add_linear(w, part(layers, l, "output.dense"), 4 * MODEL, MODEL, false);
  }
  weights_add_norm(w, "vit.layernorm", MODEL);
  weights_add_linear(w, "classifier", MODEL, CLASSES, false);

  float *image = add_input(t, "image", PH_F32, 4, (const int64_t[]){B, COLOURS, SIDE, SIDE})->data;
  for (int64_t i = 0; i < B * COLOURS * SIDE * SIDE; i++) image[i] = (float)sin((double)(i * i));

  const float *class_token = weights_get(w, "vit.embeddings.cls_token", "")->data;
  const float *places = weights_get(w, "vit.embeddings.position_embeddings", "")->data;
  double *x = forward_room(B * S * MODEL);
  for (int64_t b = 0; b < B; b++)
    for (int64_t s = 0; s < S; s++) {
      double pixels[PIXELS], *seen = NULL;
      for (int64_t i = 0; s > 0 && i < PIXELS; i++) { /* a patch as [colour, row, column] */
        int64_t row = (s - 1) / GRID * PATCH + i / PATCH % PATCH, column = (s - 1) % GRID * PATCH + i % PATCH;
        pixels[i] = image[((b * COLOURS + i / (PATCH * PATCH)) * SIDE + row) * SIDE + column];
      }
      if (s > 0) seen = forward_linear(w, projection, pixels, 1, false);
      for (int64_t d = 0; d < MODEL; d++)
        x[(b * S + s) * MODEL + d] = (seen != NULL ? seen[d] : class_token[d]) + places[s * MODEL + d];
    }
  const forward_heads heads = {B, S, HEADS, MODEL / HEADS, MODEL, NULL, false};
  for (int64_t l = 0; l < LAYERS; l++) {
    double *normed = forward_norm(w, part(layers, l, "layernorm_before"), x, B * S, 1e-12);
    double *q = forward_linear(w, part(layers, l, "attention.attention.query"), normed, B * S, false);
    double *k = forward_linear(w, part(layers, l, "attention.attention.key"), normed, B * S, false);
    double *v = forward_linear(w, part(layers, l, "attention.attention.value"), normed, B * S, false);
    double *mixed = forward_attention(&heads, q, k, v);
    x = forward_add(x, forward_linear(w, part(layers, l, "attention.output.dense"), mixed, B * S, false),
                    B * S * MODEL);
    normed = forward_norm(w, part(layers, l, "layernorm_after"), x, B * S, 1e-12);
    double *wide = forward_linear(w, part(layers, l, "intermediate.dense"), normed, B * S, false);
    double *bent = forward_gelu(wide, B * S * 4 * MODEL, false);
    x = forward_add(x, forward_linear(w, part(layers, l, "output.dense"), bent, B * S, false), B * S * MODEL);
  }
  x = forward_norm(w, "vit.layernorm", x, B * S, 1e-12);
  double *first = forward_room(B * MODEL);
  for (int64_t i = 0; i < B * MODEL; i++) first[i] = x[i / MODEL * S * MODEL + i % MODEL];
  double *logits = forward_linear(w, "classifier", first, B, false), *best = forward_room(B);
  for (int64_t i = 0; i < B * CLASSES; i++)
    if (logits[i] > logits[i / CLASSES * CLASSES + (int64_t)best[i / CLASSES]])
      best[i / CLASSES] = (double)(i % CLASSES);
  expect(t, "logits", logits, B * CLASSES);
  expect(t, "class", best, B);
}

/* ---- running ---- */

static int compare(const ph_session *session, const answer *expected) {
  const ph_tensor *got = NULL;
  for (uint32_t i = 0; i < ph_session_output_count(session); i++)
    if (strcmp(ph_session_output(session, i)->alias, expected->name) == 0) got = ph_session_output(session, i)->tensor;
  if (got == NULL || got->count != (size_t)expected->count) {
    printf("there is no output %s of %lld elements\n", expected->name, (long long)expected->count);
    return 1;
  }
  double worst = 0;
  int64_t bad = 0;
  for (int64_t i = 0; i < expected->count; i++) {
    double value = got->dtype == PH_I64 ? (double)((int64_t *)got->data)[i] : ((float *)got->data)[i];
    double distance = fabs(value - expected->values[i]);
    if (!(distance <= within)) bad++; /* NaN, too */
    if (distance > worst) worst = distance;
  }
  printf("  %s: at most %.2g away\n", expected->name, worst);
  return bad == 0 ? 0 : 1;
}

static int run(ph_context *context, const trial *t, const char *config, const char *device, const char *file) {
  ph_error error = {.struct_size = sizeof(error)};
  const ph_model_options model_options = {.struct_size = sizeof(model_options),
                                          .weight_files = &file,
                                          .weight_file_count = 1,
                                          .dims = t->dims,
                                          .dim_count = t->dim_count};
  const ph_session_options options = {.struct_size = sizeof(options), .device = device};
  ph_model *model = NULL;
  ph_session *session = NULL;
  ph_status status = ph_model_load(config, &model_options, &model, &error);
  if (status == PH_OK) status = ph_session_create(context, model, &options, &session, &error);
  for (uint32_t i = 0; status == PH_OK && i < t->input_count; i++)
    status = ph_session_set_input(session, t->inputs[i].name, t->inputs[i].tensor, &error);
  if (status == PH_OK) status = ph_session_run(session, &error);
  int failed = status == PH_OK ? 0 : 1;
  if (failed) printf("%s\n", error.message);
  for (uint32_t i = 0; !failed && i < t->output_count; i++) failed = compare(session, &t->outputs[i]);
  ph_session_destroy(session);
  ph_model_destroy(model);
  return status == PH_UNAVAILABLE ? 77 : failed; /* 77: skipped */
}

static int run_spellings(ph_context *context, const trial *t, const char *config, const char *device,
                         const char *folder) {
  char file[256];
  snprintf(file, sizeof(file), "%s/model.safetensors", folder);
  int failed = 0;
  for (uint32_t p = 0; !failed && p < t->prefix_count; p++)
    for (int old_norms = 0; !failed && old_norms <= t->old_norms; old_norms++) {
      ph_error error = {.struct_size = sizeof(error)};
      printf("keys behind '%s'%s\n", t->prefixes[p], old_norms ? ", norms with gamma and beta" : "");
      if (weights_write(&t->w, file, t->prefixes[p], old_norms, &error) == PH_OK) {
        failed = run(context, t, config, device, file);
      } else {
        printf("%s\n", error.message);
        failed = 1;
      }
    }
  unlink(file);
  return failed;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*make)(trial *t);
  } models[] = {{"bert", make_bert}, {"gpt2", make_gpt2}, {"vit", make_vit}};
  static trial t;
  if (argc != 4) return 2;
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
    if (strcmp(models[i].name, argv[1]) == 0) models[i].make(&t);
  const char *root = getenv("TMPDIR");
  char folder[200];
  snprintf(folder, sizeof(folder), "%s/published.XXXXXX", root != NULL ? root : "/tmp");
  ph_context *context = NULL;
  ph_error error = {.struct_size = sizeof(error)};
  int failed = 1;
  if (t.output_count > 0 && mkdtemp(folder) != NULL &&
      ph_context_create(&(ph_context_options){.struct_size = sizeof(ph_context_options)}, &context, &error) == PH_OK) {
    failed = run_spellings(context, &t, argv[2], argv[3], folder);
    rmdir(folder);
  } else {
    fprintf(stderr, "%s: %s\n", argv[1], error.message);
  }
  ph_context_destroy(context);
  for (uint32_t i = 0; i < t.input_count; i++) ph_tensor_release(t.inputs[i].tensor);
  weights_free(&t.w);
  return failed;
}
