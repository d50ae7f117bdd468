/* transformer CONFIG DEVICE: what must hold for the original Transformer whatever its weights are.  A word sees none
 * that comes after it, padding leaves no trace, every word that counts matters, and shares add up to 1. */
#include <math.h>
#include <polyhead/polyhead.h>
#include <string.h>

enum { SOURCE = 7, TARGET = 5, VOCAB = 100, SEEN = TARGET * VOCAB };

typedef struct words {
  int64_t source[SOURCE], target[TARGET];
  int64_t length; /* source words that are no padding */
} words;

static ph_status give(ph_session *session, const char *name, ph_dtype dtype, int64_t count, const int64_t *values,
                      ph_error *error) {
  ph_tensor *tensor;
  ph_status status = ph_tensor_create(dtype, 2, (const int64_t[]){1, count}, &tensor, error);
  if (status != PH_OK) return status;
  for (int64_t i = 0; i < count; i++) {
    if (dtype == PH_BOOL)
      ((bool *)tensor->data)[i] = values[i] != 0;
    else
      ((int64_t *)tensor->data)[i] = values[i];
  }
  status = ph_session_set_input(session, name, tensor, error);
  ph_tensor_release(tensor);
  return status;
}

static ph_status run(ph_session *session, const words *w, float next_word[SEEN], ph_error *error) {
  int64_t is_word[SOURCE];
  for (int64_t i = 0; i < SOURCE; i++) is_word[i] = i < w->length;
  ph_status status = give(session, "source_ids", PH_I64, SOURCE, w->source, error);
  if (status == PH_OK) status = give(session, "target_ids", PH_I64, TARGET, w->target, error);
  if (status == PH_OK) status = give(session, "is_word", PH_BOOL, SOURCE, is_word, error);
  if (status == PH_OK) status = ph_session_run(session, error);
  if (status == PH_OK) memcpy(next_word, ph_session_output(session, 0)->tensor->data, SEEN * sizeof(float));
  return status;
}

/* Whether row `row` of the answers differs. */
static bool differs(const float *a, const float *b, int64_t row) {
  return memcmp(a + row * VOCAB, b + row * VOCAB, VOCAB * sizeof(float)) != 0;
}

static int check(bool holds, const char *what) {
  if (!holds) printf("it does not hold that %s\n", what);
  return !holds;
}

static ph_status check_all(ph_session *session, int *failed, ph_error *error) {
  const words first = {{12, 5, 83, 40, 5, 9, 2}, {1, 33, 8, 61, 4}, 5};
  words later = first, padding = first, source = first;
  later.target[3] = 99;
  padding.source[6] = 77;
  source.source[4] = 77;
  float a[SEEN], b[SEEN], c[SEEN], d[SEEN];
  ph_status status = run(session, &first, a, error);
  if (status == PH_OK) status = run(session, &later, b, error);
  if (status == PH_OK) status = run(session, &padding, c, error);
  if (status == PH_OK) status = run(session, &source, d, error);
  for (int64_t row = 0; status == PH_OK && row < TARGET; row++) {
    double sum = 0;
    for (int64_t i = 0; i < VOCAB; i++) sum += a[row * VOCAB + i];
    *failed += check(fabs(sum - 1) < 1e-5, "shares add up to 1");
    *failed += check(differs(a, b, row) == (row >= 3), "a word is seen from itself on, and only there");
    *failed += check(!differs(a, c, row), "padding leaves no trace");
    *failed += check(differs(a, d, row), "every source word matters");
  }
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  ph_error error = {.struct_size = sizeof(error)};
  const ph_session_options options = {.struct_size = sizeof(options), .device = argv[2]};
  ph_context *context = NULL;
  ph_model *model = NULL;
  ph_session *session = NULL;
  int failed = 0;
  ph_status status = ph_context_create(NULL, &context, &error);
  if (status == PH_OK) status = ph_model_load(argv[1], NULL, &model, &error);
  if (status == PH_OK) status = ph_session_create(context, model, &options, &session, &error);
  if (status == PH_OK) status = check_all(session, &failed, &error);
  if (status != PH_OK) printf("%s\n", error.message);
  ph_session_destroy(session);
  ph_model_destroy(model);
  ph_context_destroy(context);
  return status == PH_UNAVAILABLE ? 77 : status != PH_OK || failed > 0; /* 77: skipped */
}
