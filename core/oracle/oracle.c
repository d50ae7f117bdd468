/* The oracle's table of ops, and what is the same for all of them: memory for outputs and magnitudes. */
#include "oracle/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/ops.h"

enum {
  SCORE = 1u << PH_MAGNITUDE_SCORE,
  WEIGHT = 1u << PH_MAGNITUDE_WEIGHT,
  ACCUM = 1u << PH_MAGNITUDE_ACCUM,
  F32 = 1u << PH_MAGNITUDE_F32,
  BUILTIN = 1u << PH_MAGNITUDE_BUILTIN
};

typedef struct oracle_row {
  const char *op;
  uint32_t version;
  uint32_t magnitudes; /* which ones the function fills */
  ph_oracle_function *function;
} oracle_row;

static const oracle_row table[] = {
    {"linear", 1, ACCUM, ph_oracle_linear},
    {"fused_linear", 1, WEIGHT | ACCUM | BUILTIN, ph_oracle_fused_linear},
    {"matmul", 1, ACCUM, ph_oracle_matmul},
    {"split_heads", 1, 0, ph_oracle_split_heads},
    {"concat_heads", 1, 0, ph_oracle_concat_heads},
    {"scaled_scores", 1, ACCUM, ph_oracle_scaled_scores},
    {"softcap", 1, WEIGHT | BUILTIN, ph_oracle_softcap},
    {"mask", 1, ACCUM, ph_oracle_mask},
    {"softmax", 1, WEIGHT | ACCUM | BUILTIN, ph_oracle_softmax},
    {"hardmax", 1, 0, ph_oracle_hardmax},
    {"log_softmax", 1, WEIGHT | ACCUM | BUILTIN, ph_oracle_log_softmax},
    {"weighted_sum", 1, WEIGHT | ACCUM | F32, ph_oracle_weighted_sum},
    {"attention", 1, SCORE | WEIGHT | ACCUM | F32 | BUILTIN, ph_oracle_attention},
    {"embedding", 1, 0, ph_oracle_embedding},
    {"positions", 1, 0, ph_oracle_positions},
    {"sinusoidal_position", 1, WEIGHT | BUILTIN, ph_oracle_sinusoidal_position},
    {"rotary", 1, WEIGHT | ACCUM | BUILTIN, ph_oracle_rotary},
    {"layer_norm", 1, ACCUM | BUILTIN, ph_oracle_layer_norm},
    {"rms_norm", 1, ACCUM | BUILTIN, ph_oracle_rms_norm},
    {"add", 1, 0, ph_oracle_add},
    {"sub", 1, 0, ph_oracle_sub},
    {"mul", 1, 0, ph_oracle_mul},
    {"div", 1, BUILTIN, ph_oracle_div},
    {"relu", 1, 0, ph_oracle_relu},
    {"gelu", 1, WEIGHT | BUILTIN, ph_oracle_gelu},
    {"silu", 1, WEIGHT | BUILTIN, ph_oracle_silu},
    {"tanh", 1, WEIGHT | BUILTIN, ph_oracle_tanh},
    {"sigmoid", 1, WEIGHT | BUILTIN, ph_oracle_sigmoid},
    {"erf", 1, WEIGHT | BUILTIN, ph_oracle_erf},
    {"exp", 1, WEIGHT | BUILTIN, ph_oracle_exp},
    {"concat", 1, 0, ph_oracle_concat},
    {"split", 1, 0, ph_oracle_split},
    {"slice", 1, 0, ph_oracle_slice},
    {"gather", 1, 0, ph_oracle_gather},
    {"transpose", 1, 0, ph_oracle_transpose},
    {"reshape", 1, 0, ph_oracle_reshape},
    {"expand", 1, 0, ph_oracle_expand},
    {"cast", 1, 0, ph_oracle_cast},
    {"cache_write", 1, 0, ph_oracle_cache_write},
    {"mean", 1, ACCUM | BUILTIN, ph_oracle_mean},
    {"argmax", 1, 0, ph_oracle_argmax},
    {"l2_normalize", 1, ACCUM | BUILTIN, ph_oracle_l2_normalize},
    {"one_hot", 1, 0, ph_oracle_one_hot},
    {"cross_entropy", 1, WEIGHT | ACCUM | BUILTIN, ph_oracle_cross_entropy},
    {"mse", 1, ACCUM | BUILTIN, ph_oracle_mse},
    {"dropout", 1, 0, ph_oracle_dropout},
};

static const oracle_row *find(const char *op, uint32_t version) {
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
    if (strcmp(table[i].op, op) == 0) return table[i].version >= version ? &table[i] : NULL;
  return NULL;
}

bool ph_oracle_knows(const char *op, uint32_t version) {
  return find(op, version) != NULL;
}

uint32_t ph_oracle_magnitudes(const char *op) {
  const oracle_row *row = find(op, 1);
  return row != NULL ? row->magnitudes : 0;
}

void ph_oracle_outputs_free(ph_oracle_output *outputs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    free(outputs[i].real);
    free(outputs[i].integer);
    for (uint32_t m = 0; m < PH_MAGNITUDE_COUNT; m++) free(outputs[i].magnitude[m]);
    outputs[i] = (ph_oracle_output){0};
  }
}

static ph_status check_dims(const ph_tensor_desc *desc, int64_t *count, ph_error *error) {
  bool fits = desc->rank <= PH_MAX_RANK, empty = false;
  *count = 1;
  for (uint32_t i = 0; fits && i < desc->rank; i++) {
    empty = empty || desc->dims[i] == 0;
    fits = desc->dims[i] >= 0 && (desc->dims[i] == 0 || ph_mul_i64(*count, desc->dims[i], count));
  }
  if (empty) *count = 0;
  return fits ? PH_OK
              : ph_fail(error, PH_INVALID, "tensor '%s' has dims that are not concrete or too large", desc->name);
}

static ph_status make_output(const ph_tensor_desc *desc, uint32_t magnitudes, ph_oracle_output *out, ph_error *error) {
  PH_TRY(check_dims(desc, &out->count, error));
  out->dtype = desc->dtype;
  if (!ph_dtype_is_real(desc->dtype)) {
    out->integer = ph_new_array((size_t)out->count, sizeof(int64_t));
    return out->integer != NULL ? PH_OK : ph_fail_memory(error);
  }
  out->real = ph_new_array((size_t)out->count, sizeof(double));
  bool made = out->real != NULL;
  for (uint32_t m = 0; made && m < PH_MAGNITUDE_COUNT; m++) {
    if (!(magnitudes >> m & 1u)) continue;
    out->magnitude[m] = ph_new_array((size_t)out->count, sizeof(double));
    made = out->magnitude[m] != NULL;
  }
  return made ? PH_OK : ph_fail_memory(error);
}

ph_status ph_oracle_node(const ph_graph *graph, uint32_t node, const void *const *data, bool magnitudes,
                         ph_oracle_output *outputs, ph_error *error) {
  const ph_node *asked = graph->nodes[node];
  const oracle_row *row = find(asked->op, asked->op_version);
  if (row == NULL)
    return ph_fail(error, PH_UNSUPPORTED, "node '%s': op %s version %u is not known here", asked->id, asked->op,
                   asked->op_version);

  ph_arena scratch = {0};
  ph_oracle_call call = {graph, asked, data, outputs, &scratch, error};
  ph_status status = PH_OK;
  int64_t count;
  for (uint32_t i = 0; status == PH_OK && i < asked->input_count; i++)
    if (asked->inputs[i] != PH_NONE) status = check_dims(graph->tensors[asked->inputs[i]], &count, error);
  for (uint32_t i = 0; status == PH_OK && i < asked->output_count; i++)
    if (asked->outputs[i] != PH_NONE)
      status = make_output(graph->tensors[asked->outputs[i]], magnitudes ? row->magnitudes : 0, &outputs[i], error);
  if (status == PH_OK) status = row->function(&call);
  ph_arena_free(&scratch);
  if (status != PH_OK) ph_oracle_outputs_free(outputs, asked->output_count);
  return status;
}
