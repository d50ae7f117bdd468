/* The labels of outputs: texts of the config, or the tokens that were fed. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "runtime/session.h"

ph_status ph_labels_open(ph_session *session, ph_error *error) {
  const ph_model *model = session->model;
  session->vocabularies = ph_new_array(model->label_count, sizeof(*session->vocabularies));
  if (session->vocabularies == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < model->label_count; i++)
    if (model->labels[i].vocabulary != NULL)
      PH_TRY(ph_place_prefix(error, model->labels[i].place,
                             ph_vocabulary_open(model->labels[i].vocabulary, &session->vocabularies[i], error)));
  return PH_OK;
}

void ph_labels_close(ph_session *session) {
  for (uint32_t i = 0; session->vocabularies != NULL && i < session->model->label_count; i++)
    ph_vocabulary_close(session->vocabularies[i]);
  free(session->vocabularies);
  ph_arena_free(&session->labels);
}

static const ph_tensor *fed(const ph_session_plan *plan, uint32_t input) {
  for (uint32_t i = 0; i < plan->net->value_count; i++)
    if (plan->net->values[i].kind == PH_TENSOR_INPUT && plan->net->values[i].input == input) return plan->values[i];
  return NULL;
}

/* The tokens of the ids along an axis of `count` places; NULL where several rows have ids of their own. */
static ph_status read_tokens(ph_session *session, const ph_session_plan *plan, uint32_t label, int64_t count,
                             const char *const **out, ph_error *error) {
  const ph_tensor *ids = fed(plan, session->model->labels[label].ids);
  *out = NULL;
  if (ids == NULL || ids->count != (size_t)count || ids->dims[session->model->labels[label].ids_axis] != count)
    return PH_OK;
  const char **texts = ph_arena_array(&session->labels, ids->count, sizeof(*texts));
  if (texts == NULL) return ph_fail_memory(error);
  for (size_t i = 0; i < ids->count; i++) {
    int64_t id = ph_read_integer(ids->dtype, ids->data, i);
    char *text = ph_vocabulary_token(session->vocabularies[label], id);
    texts[i] = text != NULL ? ph_arena_copy(&session->labels, text, strlen(text))
                            : ph_arena_text(&session->labels, "%lld", (long long)id); /* an id without a token */
    free(text);
    if (texts[i] == NULL) return ph_fail_memory(error);
  }
  *out = texts;
  return PH_OK;
}

ph_status ph_labels_find(ph_session *session, const ph_session_plan *plan, const ph_type *type,
                         const char *const *const **out, ph_error *error) {
  const ph_model *model = session->model;
  *out = NULL;
  if (model->label_count == 0) return PH_OK;
  const char *const **labels = ph_arena_array(&session->labels, PH_MAX_RANK, sizeof(*labels));
  if (labels == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < type->rank; i++)
    for (uint32_t k = 0; k < model->label_count && type->dims[i].name != NULL; k++) {
      const ph_model_labels *row = &model->labels[k];
      if (strcmp(row->dim, type->dims[i].name) != 0) continue;
      if (row->vocabulary != NULL)
        PH_TRY(read_tokens(session, plan, k, type->dims[i].value, &labels[i], error));
      else if (row->count == type->dims[i].value)
        labels[i] = row->texts;
      if (labels[i] != NULL) *out = labels;
    }
  return PH_OK;
}
