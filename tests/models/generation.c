/* generation stories|transliteration CONFIG MODEL DEVICE: published models, token by token, against values that an
 * independent program computed.  MODEL is the folder of the weights.  Exit: 0 right, 1 wrong, 77 the folder is absent.
 */
#include <polyhead/polyhead.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct machine {
  const char *folder;
  ph_context *context;
  ph_model *model;
  ph_session *session;
  ph_error error;
} machine;

static void check(const machine *m, ph_status status, const char *what) {
  if (status == PH_OK) return;
  fprintf(stderr, "%s: %s\n", what, m->error.message);
  exit(1);
}

static void start(machine *m, const char *config, const char *device) {
  char weights[4096];
  snprintf(weights, sizeof weights, "%s/model.safetensors", m->folder);
  const char *files[] = {weights};
  const ph_model_options model_options = {
      .struct_size = sizeof model_options, .weight_files = files, .weight_file_count = 1};
  const ph_session_options session_options = {.struct_size = sizeof session_options, .device = device, .times = true};
  check(m, ph_context_create(NULL, &m->context, &m->error), "context");
  check(m, ph_model_load(config, &model_options, &m->model, &m->error), config);
  check(m, ph_session_create(m->context, m->model, &session_options, &m->session, &m->error), device);
}

static void stop(machine *m) {
  ph_session_destroy(m->session);
  ph_model_destroy(m->model);
  ph_context_destroy(m->context);
}

static ph_tensor *load(machine *m, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", m->folder, name);
  ph_tensor_file *file;
  ph_tensor *tensor;
  check(m, ph_tensor_file_open(path, &file, &m->error), name);
  check(m, ph_tensor_file_get(file, 0, &tensor, &m->error), name);
  ph_tensor_file_close(file);
  return tensor;
}

static void give(machine *m, const char *name, uint32_t rank, const int64_t *items, size_t count) {
  const int64_t dims[] = {1, (int64_t)count};
  ph_tensor *tensor;
  check(m, ph_tensor_create(PH_I64, rank, rank == 2 ? dims : dims + 1, &tensor, &m->error), name);
  memcpy(tensor->data, items, count * sizeof *items);
  check(m, ph_session_set_input(m->session, name, tensor, &m->error), name);
  ph_tensor_release(tensor);
}

/* Tokens past .. past + count - 1 of `ids`. */
static void feed(machine *m, const char *input, const ph_tensor *ids, size_t past, size_t count) {
  const int64_t before = (int64_t)past;
  give(m, input, 2, (const int64_t *)ids->data + past, count);
  give(m, "past", 1, &before, 1);
  check(m, ph_session_run(m->session, &m->error), "run");
}

static const ph_tensor *output(const machine *m, const char *alias) {
  for (uint32_t i = 0; i < ph_session_output_count(m->session); i++)
    if (strcmp(ph_session_output(m->session, i)->alias, alias) == 0) return ph_session_output(m->session, i)->tensor;
  fprintf(stderr, "there is no output %s\n", alias);
  exit(1);
}

static double largest(const float *values, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fabs(values[i]));
  return most;
}

/* Whether `got` is within 1e-4 of the largest magnitude among all that is expected. */
static bool is_near(const char *what, const float *got, const float *expected, size_t count, double most) {
  for (size_t i = 0; i < count; i++) {
    if (fabs((double)got[i] - (double)expected[i]) <= 1e-4 * most) continue;
    fprintf(stderr, "%s: element %zu is %.9g, not %.9g\n", what, i, got[i], expected[i]);
    return false;
  }
  return true;
}

/* ---- a decoder ---- */

/* Feeds runs of these lengths from `past` on, and looks at every row of logits. */
static bool chunks_agree(machine *m, const char *what, const ph_tensor *ids, const ph_tensor *expected, size_t past,
                         const size_t *lengths) {
  size_t width = (size_t)expected->dims[2];
  const float *rows = expected->data;
  double most = largest(rows, expected->count);
  bool right = true;
  for (; *lengths > 0; past += *lengths++) {
    feed(m, "ids", ids, past, *lengths);
    const ph_tensor *logits = output(m, "logits");
    right = logits->count == *lengths * width &&
            is_near(what, logits->data, rows + past * width, logits->count, most) && right;
  }
  return right;
}

static bool stories(machine *m) {
  ph_tensor *ids = load(m, "input_ids.npy"), *expected = load(m, "expected_logits.npy");
  bool right = ids->count == 64 && expected->count == 64 * 512;
  right = right && chunks_agree(m, "64", ids, expected, 0, (const size_t[]){64, 0});
  check(m, ph_session_reset(m->session, &m->error), "reset");
  right = chunks_agree(m, "60 + 1 + 1 + 1 + 1", ids, expected, 0, (const size_t[]){60, 1, 1, 1, 1, 0}) && right;
  right = chunks_agree(m, "back to 40", ids, expected, 40, (const size_t[]){1, 20, 3, 0}) && right;
  check(m, ph_session_reset(m->session, &m->error), "reset");
  right = chunks_agree(m, "30 + 30 + 4", ids, expected, 0, (const size_t[]){30, 30, 4, 0}) && right;
  ph_tensor_release(ids);
  ph_tensor_release(expected);
  return right;
}

/* ---- an encoder and a decoder ---- */

static uint64_t started(const machine *m, const char *path) {
  for (uint32_t i = 0; i < ph_session_node_count(m->session); i++)
    if (strcmp(ph_session_node(m->session, i)->path, path) == 0) return ph_session_node(m->session, i)->start_ns;
  fprintf(stderr, "there is no node %s\n", path);
  exit(1);
}

static size_t argmax(const float *values, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (values[i] > values[best]) best = i;
  return best;
}

/* Row `step` of every head of the stored maps [1, heads, steps, source]. */
static bool map_is_near(const ph_tensor *got, const ph_tensor *expected, size_t step) {
  size_t heads = (size_t)expected->dims[1], steps = (size_t)expected->dims[2], source = (size_t)expected->dims[3];
  bool right = got->count == heads * source;
  for (size_t head = 0; head < heads && right; head++)
    right = is_near("cross-attention", (const float *)got->data + head * source,
                    (const float *)expected->data + (head * steps + step) * source, source, 1);
  return right;
}

static bool word(machine *m, unsigned index) {
  static const char *const names[] = {"source_ids", "target_ids", "memory", "logits", "cross_attention_layer5"};
  ph_tensor *stored[5];
  for (unsigned i = 0; i < 5; i++) {
    char name[64];
    snprintf(name, sizeof name, "word%u_%s.npy", index, names[i]);
    stored[i] = load(m, name);
  }
  const ph_tensor *source = stored[0], *target = stored[1], *memory = stored[2], *logits = stored[3];
  size_t width = (size_t)logits->dims[2], steps = target->count - 1;
  double most = largest(logits->data, logits->count);
  uint64_t encoded = 0, decoded = 0;
  bool right = steps > 2 && logits->count == steps * width;
  give(m, "source_ids", 2, source->data, source->count);
  for (size_t step = 0; step < steps && right; step++) {
    feed(m, "target_ids", target, step, 1);
    const float *row = output(m, "logits")->data;
    right = output(m, "memory")->count == memory->count && is_near("memory", output(m, "memory")->data, memory->data,
                                                                   memory->count, largest(memory->data, memory->count));
    right = is_near("logits", row, (const float *)logits->data + step * width, width, most) && right;
    right = map_is_near(output(m, "cross_attention"), stored[4], step) && right;
    if ((int64_t)argmax(row, width) != ((const int64_t *)target->data)[step + 1]) {
      fprintf(stderr, "word %u: token %zu is another one\n", index, step + 1);
      right = false;
    }
    /* The encoder ran with the first token alone, the decoder with each. */
    if (step > 0 && (started(m, "memory") != encoded || started(m, "logits") == decoded)) {
      fprintf(stderr, "word %u, step %zu: the encoder ran again, or the decoder did not\n", index, step);
      right = false;
    }
    encoded = started(m, "memory");
    decoded = started(m, "logits");
  }
  if (encoded == 0) fprintf(stderr, "the device measures no times: whether the encoder ran once is not known\n");
  for (unsigned i = 0; i < 5; i++) ph_tensor_release(stored[i]);
  return right && encoded != 0;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  machine m = {.folder = argv[3], .error = {.struct_size = sizeof(ph_error)}};
  if (access(m.folder, R_OK) != 0) {
    printf("SKIPPED: %s is absent; set POLYHEAD_SHARED to the folder that holds models/ when configuring\n", m.folder);
    return 77;
  }
  start(&m, argv[2], argv[4]);
  bool right = strcmp(argv[1], "stories") == 0 ? stories(&m) : word(&m, 0) && word(&m, 1);
  stop(&m);
  return right ? 0 : 1;
}
