/* A suite file as a source of cases: each is loaded from its config and judged, again after its dims changed. */
#include <stdlib.h>

#include "base/error.h"
#include "config/load_text.h"
#include "config/source.h"
#include "conform/suite.h"
#include "graph/net.h"

typedef struct suite_source {
  ph_case_source base;
  ph_suite *suite;
} suite_source;

static const ph_suite *suite_of(const ph_case_source *source) {
  return ((const suite_source *)source)->suite;
}

/* ---- dims that change between runs ---- */

/* The model's inputs from their sources, at its dims, handed to a session of the same case at other dims. */
static ph_status give_input(const ph_model *model, uint32_t index, const ph_scope *scope, ph_session *session,
                            ph_error *error) {
  const ph_model_input *input = &model->inputs[index];
  ph_type type = {.dtype = input->dtype, .rank = input->rank};
  for (uint32_t i = 0; i < type.rank; i++) PH_TRY(ph_expr_integer(input->dims[i], scope, &type.dims[i], error));
  ph_tensor *tensor;
  PH_TRY(ph_source_make(&input->initial, input->name, &type, scope, &tensor, error));
  ph_status status = ph_session_set_input(session, input->name, tensor, error);
  ph_tensor_release(tensor);
  return status;
}

static ph_status give_inputs(const ph_model *model, ph_session *session, ph_error *error) {
  ph_dim *dims = ph_new_array(model->dim_count, sizeof(*dims));
  const ph_tensor **given = ph_new_array(model->input_count, sizeof(*given));
  ph_status status = dims != NULL && given != NULL ? PH_OK : ph_fail_memory(error);
  if (status == PH_OK) status = ph_bind_dims(model, given, dims, error);
  ph_dim_scope storage = {model, dims};
  ph_scope scope = ph_scope_of_dims(&storage);
  for (uint32_t i = 0; i < model->input_count && status == PH_OK; i++)
    status = give_input(model, i, &scope, session, error);
  free(dims);
  free(given);
  return status;
}

static ph_status give_rebound(const char *text, const char *const *dims, uint32_t dim_count, ph_session *session,
                              ph_error *error) {
  ph_model_options options = {.struct_size = sizeof(options), .dims = dims, .dim_count = dim_count};
  ph_model *model;
  PH_TRY(ph_model_load_text("case.yaml", text, &options, &model, error));
  ph_status status = give_inputs(model, session, error);
  ph_model_destroy(model);
  return status;
}

/* ---- running ---- */

/* One run of a case: what is at hand. */
typedef struct running {
  const ph_suite *suite;
  uint32_t index;
  ph_case_run *run;
  ph_case_result *result;
  const char *op;
} running;

static ph_status judge_rebound(const running *r, const char *text, ph_session *session, ph_arena *arena,
                               ph_error *error) {
  for (uint32_t step = 0; r->result->state == PH_CASE_PASS; step++) {
    ph_error local = PH_ERROR_INIT;
    const char *const *dims;
    uint32_t count;
    ph_status status = ph_suite_rebind(r->suite, r->index, step, arena, &dims, &count, &local);
    if (status == PH_OK && count == 0) break;
    if (status == PH_OK) status = give_rebound(text, dims, count, session, &local);
    if (status != PH_OK)
      ph_case_set_failure(r->result, status, &local);
    else
      PH_TRY(ph_case_judge(r->run, r->op, session, r->result, error));
  }
  return PH_OK;
}

static ph_status judge_model(const running *r, const char *text, ph_model *model, ph_error *error) {
  ph_session *session;
  PH_TRY(ph_case_session(r->run, r->op, model, r->result, &session, error));
  if (session == NULL) return PH_OK;
  ph_arena arena = {0};
  bool strided = r->suite->cases[r->index].family->strided;
  ph_status status = ph_case_judge(r->run, r->op, session, r->result, error);
  if (status == PH_OK && strided && r->result->state == PH_CASE_PASS)
    status = ph_case_judge_strided(r->run, r->op, session, r->result, error);
  if (status == PH_OK) status = judge_rebound(r, text, session, &arena, error);
  ph_arena_free(&arena);
  ph_session_destroy(session);
  return status;
}

/* What a suite says of a case must be so. */
static void check_zeros(const ph_suite_case *one, ph_case_result *result) {
  if (!one->zeros || result->state != PH_CASE_PASS) return;
  if (result->trusted)
    ph_case_set(result, PH_CASE_FAIL, "the suite says that only zeros are right, but other values are");
  result->empty = true;
}

static ph_status run(ph_case_source *source, uint32_t index, ph_case_run *run, ph_case_result *result,
                     ph_error *error) {
  running r = {suite_of(source), index, run, result, source->cases[index].op};
  ph_text text = {0};
  ph_model *model = NULL;
  ph_error local = PH_ERROR_INIT;
  ph_status status = ph_suite_config(r.suite, index, run->seed, &text, &local);
  if (status == PH_OK) status = ph_model_load_text("case.yaml", text.data, NULL, &model, &local);
  if (status != PH_OK) {
    ph_case_set_failure(result, status, &local);
    status = PH_OK;
  } else {
    status = judge_model(&r, text.data, model, error);
  }
  check_zeros(&r.suite->cases[index], result);
  ph_model_destroy(model);
  ph_text_free(&text);
  return status;
}

static ph_status show(ph_case_source *source, uint32_t index, uint64_t seed, ph_text *out, ph_error *error) {
  return ph_suite_config(suite_of(source), index, seed, out, error);
}

static void close_source(ph_case_source *source) {
  ph_suite_destroy(((suite_source *)source)->suite);
  free(source);
}

ph_status ph_suite_open(const char *path, ph_case_source **out, ph_error *error) {
  suite_source *source = ph_new_array(1, sizeof(*source));
  if (source == NULL) return ph_fail_memory(error);
  ph_status status = ph_suite_read(path, &source->suite, error);
  if (status != PH_OK) {
    free(source);
    return status;
  }
  const ph_suite *suite = source->suite;
  source->base = (ph_case_source){.cases = suite->listed,
                                  .case_count = suite->listed_count,
                                  .pairs = suite->pairs,
                                  .pair_count = suite->pair_count,
                                  .run = run,
                                  .show = show,
                                  .close = close_source};
  *out = &source->base;
  return PH_OK;
}
