#include "conform/saved.h"

#include <string.h>

#include "base/error.h"

/* Names in the file: stages/NODE/OP, node/NODE/SLOT, output/ALIAS. */
enum { NAME_SIZE = 1024 };

static ph_status add(ph_answers *answers, const char *name, ph_tensor *tensor, ph_error *error) {
  const char **slot =
      ph_arena_push(&answers->arena, &answers->names, &answers->name_count, &answers->name_capacity, sizeof(*slot));
  if (slot == NULL) return ph_fail_memory(error);
  *slot = name;
  ph_tensor **kept = name == NULL ? NULL
                                  : ph_arena_push(&answers->arena, &answers->tensors, &answers->tensor_count,
                                                  &answers->tensor_capacity, sizeof(*kept));
  if (kept == NULL) return ph_fail_memory(error);
  *kept = ph_tensor_retain(tensor);
  return PH_OK;
}

ph_status ph_answers_add_node(ph_answers *answers, const ph_net_node *node, const ph_dtype stages[PH_STAGE_MAX],
                              ph_tensor *const *got, ph_error *error) {
  ph_tensor *types;
  PH_TRY(ph_tensor_create(PH_I64, 1, (int64_t[]){PH_STAGE_MAX}, &types, error));
  for (uint32_t i = 0; i < PH_STAGE_MAX; i++) ((int64_t *)types->data)[i] = stages[i];
  ph_status status =
      add(answers, ph_arena_text(&answers->arena, "stages/%s/%s", node->path, node->op->name), types, error);
  ph_tensor_release(types);
  for (uint32_t i = 0; i < node->output_count && status == PH_OK; i++)
    if (got[i] != NULL)
      status = add(answers, ph_arena_text(&answers->arena, "node/%s/%u", node->path, i), got[i], error);
  return status;
}

ph_status ph_answers_add_output(ph_answers *answers, const char *alias, ph_tensor *tensor, ph_error *error) {
  return add(answers, ph_arena_text(&answers->arena, "output/%s", alias), tensor, error);
}

ph_status ph_answers_write(const ph_answers *answers, const char *path, ph_error *error) {
  return ph_tensor_file_write(path, answers->names, (const ph_tensor *const *)answers->tensors, answers->tensor_count,
                              error);
}

void ph_answers_free(ph_answers *answers) {
  for (uint32_t i = 0; i < answers->tensor_count; i++) ph_tensor_release(answers->tensors[i]);
  ph_arena_free(&answers->arena);
  *answers = (ph_answers){0};
}

ph_status ph_saved_open(const char *path, ph_saved *out, ph_error *error) {
  *out = (ph_saved){.path = path};
  return ph_tensor_file_open(path, &out->file, error);
}

void ph_saved_close(ph_saved *saved) {
  ph_tensor_file_close(saved->file);
}

/* kind/NAME, or kind/NAME/REST. */
static size_t find(const ph_saved *saved, const char *kind, const char *name, const char *rest) {
  char full[NAME_SIZE];
  int length = snprintf(full, sizeof(full), "%s/%s%s%s", kind, name, rest == NULL ? "" : "/", rest == NULL ? "" : rest);
  return length > 0 && length < NAME_SIZE ? ph_tensor_file_find(saved->file, full) : SIZE_MAX;
}

bool ph_saved_has_node(const ph_saved *saved, const ph_net_node *node) {
  return find(saved, "stages", node->path, node->op->name) != SIZE_MAX;
}

static ph_status check(const ph_saved *saved, const ph_type *type, const char *what, ph_tensor *tensor,
                       ph_error *error) {
  bool same = tensor->dtype == type->dtype && tensor->rank == type->rank;
  for (uint32_t i = 0; same && i < type->rank; i++) same = tensor->dims[i] == type->dims[i].value;
  if (same) return PH_OK;
  return ph_fail(error, PH_INVALID,
                 "%s: '%s' has another type or shape than here, %s: it was saved from another config, or at other dims",
                 saved->path, what, ph_type_text(type));
}

ph_status ph_saved_node(const ph_saved *saved, const ph_net *net, const ph_net_node *node, ph_tensor **got,
                        ph_error *error) {
  for (uint32_t i = 0; i < node->output_count; i++) {
    char rest[16];
    snprintf(rest, sizeof(rest), "%u", i);
    size_t index = find(saved, "node", node->path, rest);
    if (index == SIZE_MAX) continue;
    PH_TRY(ph_tensor_file_get(saved->file, index, &got[i], error));
    PH_TRY(check(saved, &net->values[node->outputs[i]].type, node->path, got[i], error));
  }
  return PH_OK;
}

ph_status ph_saved_stages(const ph_saved *saved, const ph_net_node *node, ph_dtype out[PH_STAGE_MAX], ph_error *error) {
  size_t index = find(saved, "stages", node->path, node->op->name);
  ph_tensor *types;
  PH_TRY(ph_tensor_file_get(saved->file, index, &types, error));
  bool right = types->dtype == PH_I64 && types->count == PH_STAGE_MAX;
  for (uint32_t i = 0; right && i < PH_STAGE_MAX; i++) {
    int64_t stage;
    memcpy(&stage, (const unsigned char *)types->data + i * sizeof(stage), sizeof(stage));
    right = stage >= PH_DTYPE_NONE && stage <= PH_F64;
    out[i] = right ? (ph_dtype)stage : PH_DTYPE_NONE;
  }
  ph_tensor_release(types);
  return right ? PH_OK
               : ph_fail(error, PH_INVALID, "%s: the stage types of '%s' are malformed", saved->path, node->path);
}

ph_status ph_saved_output(const ph_saved *saved, const char *alias, ph_tensor **out, ph_error *error) {
  size_t index = find(saved, "output", alias, NULL);
  if (index == SIZE_MAX)
    return ph_fail(error, PH_INVALID, "%s holds no output '%s': it was saved from another config", saved->path, alias);
  return ph_tensor_file_get(saved->file, index, out, error);
}
