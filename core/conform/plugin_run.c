/* One node through a plugin's hands: supports(), program, plan, execute, twice, and the result against the oracle. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conform/plugin_trial.h"
#include "graph/op.h"
#include "oracle/tolerance.h"

/* ---- a graph of one node ---- */

enum { X, OTHER, Y, TENSORS, ROWS = 2, COLUMNS = 3 };

static const float x_values[ROWS * COLUMNS] = {0.5f, -1.25f, 3, -0.75f, 2, 1};
static const float other_values[COLUMNS * COLUMNS] = {1, 0.5f, -2, 0.25f, 3, -1, 1.5f, -0.5f, 2};

/* What is likely to be supported first.  `rows`: of the second operand; 0: there is none. */
typedef struct candidate {
  const char *op;
  int64_t rows;
  uint32_t role_count, output_count;
  ph_attr attrs[1];
  uint32_t attr_count;
} candidate;

static const candidate candidates[] = {
    {.op = "add", .rows = ROWS, .role_count = 2, .output_count = 1},
    {.op = "mul", .rows = ROWS, .role_count = 2, .output_count = 1},
    {.op = "relu", .role_count = 1, .output_count = 1},
    {.op = "linear",
     .rows = COLUMNS,
     .role_count = 3,
     .output_count = 1,
     .attrs = {{.name = "layout", .kind = PH_ATTR_STRING, .as.string = "out_in"}},
     .attr_count = 1},
    {.op = "softmax",
     .role_count = 2,
     .output_count = 2,
     .attrs = {{.name = "axis", .kind = PH_ATTR_I64, .as.i64 = 1}},
     .attr_count = 1},
    {.op = "exp", .role_count = 1, .output_count = 1},
    {.op = "silu", .role_count = 1, .output_count = 1},
};

typedef struct one_node {
  ph_tensor_desc descs[TENSORS];
  const ph_tensor_desc *tensors[TENSORS];
  uint32_t inputs[3], outputs[2];
  ph_node node;
  const ph_node *nodes[1];
  ph_graph graph;
} one_node;

static ph_tensor_desc desc_of(const char *name, ph_tensor_kind kind, int64_t rows) {
  return (ph_tensor_desc){.struct_size = sizeof(ph_tensor_desc),
                          .name = name,
                          .kind = kind,
                          .dtype = PH_F32,
                          .rank = 2,
                          .dims = {rows, COLUMNS},
                          .strides = {COLUMNS, 1}};
}

static void make_graph(const candidate *c, one_node *out) {
  *out = (one_node){.inputs = {X, c->rows > 0 ? OTHER : PH_NONE, PH_NONE}, .outputs = {Y, PH_NONE}};
  out->descs[X] = desc_of("x", PH_TENSOR_INPUT, ROWS);
  out->descs[OTHER] = desc_of("other", PH_TENSOR_INPUT, c->rows > 0 ? c->rows : 1);
  out->descs[Y] = desc_of("y", PH_TENSOR_OUTPUT, ROWS);
  for (int i = 0; i < TENSORS; i++) out->tensors[i] = &out->descs[i];
  out->node = (ph_node){.struct_size = sizeof(ph_node),
                        .op = c->op,
                        .op_version = 1,
                        .id = "node",
                        .inputs = out->inputs,
                        .input_count = c->role_count,
                        .outputs = out->outputs,
                        .output_count = c->output_count,
                        .attrs = c->attrs,
                        .attr_count = c->attr_count};
  out->nodes[0] = &out->node;
  out->graph = (ph_graph){.struct_size = sizeof(ph_graph),
                          .tensors = out->tensors,
                          .tensor_count = TENSORS,
                          .nodes = out->nodes,
                          .node_count = 1};
}

/* ---- supports ---- */

static ph_status ask(const ph_plugin_trial *trial, const one_node *asked, ph_support *out, ph_error *error) {
  *out = (ph_support){.struct_size = sizeof(*out)};
  ph_status status = trial->backend->supports(trial->device, &asked->graph, 0, out, error);
  out->reason[sizeof(out->reason) - 1] = '\0';
  return status;
}

/* An op, or a version of one, that nobody knows yet. */
static ph_check_state refuse(ph_plugin_trial *trial, const char *op, uint32_t version, ph_support *out) {
  one_node asked;
  ph_error error = PH_ERROR_INIT;
  make_graph(&candidates[0], &asked);
  asked.node.op = op;
  asked.node.op_version = version;
  ph_status status = ask(trial, &asked, out, &error);
  if (status != PH_OK)
    return ph_trial_fail(trial, "return PH_OK for a no, too; the reason goes into out->reason",
                         "supports() fails (%s) for %s version %u instead of saying no: %.300s", ph_status_name(status),
                         op, version, error.message);
  if (out->supported)
    return ph_trial_fail(trial, "refuse ops that you do not know, and versions above the one that you know",
                         "supports() says yes to %s version %u", op, version);
  if (out->reason[0] == '\0')
    return ph_trial_fail(trial, "fill out->reason: what is missing, and what would be accepted",
                         "supports() says no to %s version %u without a reason", op, version);
  return PH_CHECK_PASS;
}

ph_check_state ph_trial_supports(ph_plugin_trial *trial) {
  ph_support support;
  ph_check_state state = refuse(trial, "no_such_op", 1, &support);
  if (state == PH_CHECK_PASS) state = refuse(trial, "add", 1000, &support);
  if (state == PH_CHECK_PASS) state = refuse(trial, "no_such_op", 1, &support);
  return state == PH_CHECK_PASS ? ph_trial_pass(trial, "an unknown op is refused: %s", support.reason) : state;
}

/* ---- running ---- */

typedef struct node_run {
  ph_plugin_trial *trial;
  one_node asked;
  ph_support support;
  ph_program *program;
  ph_plan *plans[2];
  ph_queue *queue;
  ph_buffer *buffers[TENSORS], *workspace;
  uint64_t workspace_bytes, guard; /* guard: bytes on both sides of a tensor */
  float got[ROWS * COLUMNS];
  const char *call; /* the one that failed */
  ph_error error;
} node_run;

enum { GUARD_BYTE = 0xA5 };

static uint64_t bytes_of(const node_run *r, int tensor) {
  return (uint64_t)(r->asked.descs[tensor].dims[0] * COLUMNS) * sizeof(float);
}

/* A whole image of the buffer: guards, and between them the input or, for the output, bytes that are NaN. */
static ph_status put_image(node_run *r, int tensor, const float *values) {
  uint64_t bytes = bytes_of(r, tensor), whole = bytes + 2 * r->guard;
  unsigned char *image = malloc(whole);
  if (image == NULL) return ph_fail_memory(&r->error);
  memset(image, GUARD_BYTE, whole);
  if (values != NULL)
    memcpy(image + r->guard, values, bytes);
  else
    memset(image + r->guard, 0xFF, bytes);
  r->call = "write";
  ph_status status = r->trial->backend->write(r->queue, r->buffers[tensor], 0, image, whole, &r->error);
  r->call = "finish";
  if (status == PH_OK) status = r->trial->backend->finish(r->queue, &r->error); /* the image goes */
  free(image);
  return status;
}

/* PH_INTERNAL where something outside the tensor was changed. */
static ph_status get_image(node_run *r) {
  uint64_t bytes = bytes_of(r, Y), whole = bytes + 2 * r->guard;
  unsigned char *image = malloc(whole);
  if (image == NULL) return ph_fail_memory(&r->error);
  r->call = "read";
  ph_status status = r->trial->backend->read(r->queue, image, r->buffers[Y], 0, whole, &r->error);
  r->call = "finish";
  if (status == PH_OK) status = r->trial->backend->finish(r->queue, &r->error);
  for (uint64_t i = 0; status == PH_OK && i < whole; i++)
    if ((i < r->guard || i >= r->guard + bytes) && image[i] != GUARD_BYTE)
      status = ph_fail(&r->error, PH_INTERNAL, "it wrote outside its output");
  if (status == PH_OK) memcpy(r->got, image + r->guard, bytes);
  free(image);
  return status;
}

static ph_status prepare(node_run *r) {
  const ph_backend *backend = r->trial->backend;
  ph_device *device = r->trial->device;
  r->call = "program_create";
  PH_TRY(backend->program_create(device, &r->asked.graph, &r->program, &r->error));
  for (int i = 0; i < 2; i++) { /* two plans of one program may stand side by side */
    r->call = "plan_create";
    PH_TRY(backend->plan_create(r->program, &r->asked.graph, &r->plans[i], &r->workspace_bytes, &r->error));
  }
  r->call = "queue_create";
  PH_TRY(backend->queue_create(device, 0, &r->queue, &r->error));
  r->call = "buffer_create";
  for (int i = 0; i < TENSORS; i++)
    PH_TRY(backend->buffer_create(device, bytes_of(r, i) + 2 * r->guard, &r->buffers[i], &r->error));
  return r->workspace_bytes > 0 ? backend->buffer_create(device, r->workspace_bytes, &r->workspace, &r->error) : PH_OK;
}

static ph_status run_plan(node_run *r, ph_plan *plan) {
  PH_TRY(put_image(r, X, x_values));
  PH_TRY(put_image(r, OTHER, other_values));
  PH_TRY(put_image(r, Y, NULL));
  ph_binding bindings[TENSORS];
  for (uint32_t i = 0; i < TENSORS; i++)
    bindings[i] = (ph_binding){.tensor = i, .buffer = r->buffers[i], .offset = r->guard};
  const ph_binding workspace = {.tensor = PH_NONE, .buffer = r->workspace};
  r->call = "execute";
  PH_TRY(r->trial->backend->execute(r->queue, plan, bindings, TENSORS, r->workspace != NULL ? &workspace : NULL, NULL,
                                    &r->error));
  return get_image(r);
}

static ph_status judge(node_run *r) {
  const void *data[TENSORS] = {x_values, other_values, NULL};
  ph_oracle_output expected[2] = {0};
  PH_TRY(ph_oracle_node(&r->asked.graph, 0, data, true, expected, &r->error));
  ph_verdict verdict = ph_verdict_of(&expected[0], r->got, r->support.stage_type, false);
  int64_t at = verdict.first_bad;
  ph_status status = PH_OK;
  if (!verdict.pass)
    status = ph_fail(&r->error, PH_INTERNAL, "y[%lld, %lld] is %.9g, and should be %.9g", (long long)(at / COLUMNS),
                     (long long)(at % COLUMNS), r->got[at], expected[0].real[at]);
  ph_oracle_outputs_free(expected, 2);
  return status;
}

/* Both plans, the first of them twice: nothing may be left over from a run. */
static ph_status run_all(node_run *r) {
  PH_TRY(prepare(r));
  float first[ROWS * COLUMNS];
  for (int i = 0; i < 3; i++) {
    PH_TRY(run_plan(r, r->plans[i / 2]));
    r->call = "execute";
    if (i == 0) PH_TRY(judge(r));
    if (i == 0) memcpy(first, r->got, sizeof(first));
    if (memcmp(first, r->got, sizeof(first)) != 0)
      return ph_fail(&r->error, PH_INTERNAL, "a second run of the same gave other bits");
  }
  return PH_OK;
}

static void end_run(node_run *r) {
  const ph_backend *backend = r->trial->backend;
  backend->queue_destroy(r->queue);
  for (int i = 0; i < 2; i++) backend->plan_destroy(r->plans[i]);
  backend->program_destroy(r->program);
  for (int i = 0; i < TENSORS; i++) backend->buffer_destroy(r->buffers[i]);
  backend->buffer_destroy(r->workspace);
}

ph_check_state ph_trial_run(ph_plugin_trial *trial) {
  node_run r = {.trial = trial, .guard = trial->limits.alignment, .error = PH_ERROR_INIT};
  while (r.guard < 64) r.guard *= 2;
  for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
    make_graph(&candidates[i], &r.asked);
    ph_status status = ask(trial, &r.asked, &r.support, &r.error);
    if (status != PH_OK) return ph_trial_call_failed(trial, "supports", status, &r.error);
    if (!r.support.supported) continue;
    status = run_all(&r);
    end_run(&r);
    if (status == PH_INTERNAL)
      return ph_trial_fail(trial,
                           "compare with the op's rule in docs/numerics.md; see `polyhead ops NAME` for its roles",
                           "%s of f32 [2, 3]: %s", candidates[i].op, r.error.message);
    if (status != PH_OK) return ph_trial_call_failed(trial, r.call, status, &r.error);
    return ph_trial_pass(trial, "%s of f32 [2, 3]: right in two plans, and the same twice", candidates[i].op);
  }
  return ph_trial_skip(trial, "it takes none of the simplest ops in f32; the smoke test decides");
}
