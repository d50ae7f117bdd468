/* polyhead check: what would run where, and what it costs; runs nothing. */
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "setup.h"

typedef struct totals {
  uint32_t nodes, refused, moved; /* moved: to another device, by --fallback */
  double flops;
  uint64_t bytes;
} totals;

static totals add_up(const ph_session *session) {
  totals sum = {.nodes = ph_session_node_count(session)};
  for (uint32_t i = 0; i < sum.nodes; i++) {
    const ph_node_report *node = ph_session_node(session, i);
    sum.flops += node->flops;
    sum.bytes += node->bytes;
    if (node->device == NULL)
      sum.refused++;
    else if (node->reason != NULL)
      sum.moved++;
  }
  return sum;
}

static void print_dims(const ph_session *session) {
  uint32_t count = ph_session_dim_count(session);
  if (count == 0) return;
  fputs("dims:", stdout);
  for (uint32_t i = 0; i < count; i++) {
    int64_t value = 0;
    const char *name = ph_session_dim(session, i, &value);
    printf("%s %s = %lld", i > 0 ? "," : "", name, (long long)value);
  }
  fputc('\n', stdout);
}

/* The row of the backend's table that put the variant first: "measured: cpu linear f32 rows 1 weight 4M+". */
static cli_text row_text(const ph_node_report *node) {
  cli_text out = {""};
  if (node->order != NULL && node->shape_class != NULL)
    snprintf(out.text, sizeof(out.text), "%s: %s", node->order, node->shape_class);
  return out;
}

/* The last column is there only where some backend chooses by shape. */
static ph_status print_nodes(const ph_session *session, const totals *sum, ph_error *error) {
  bool rows = false;
  for (uint32_t i = 0; i < sum->nodes; i++) rows = rows || ph_session_node(session, i)->order != NULL;
  cli_table table = {.columns = rows ? "lllrrlll" : "lllrrll"};
  cli_table_add(&table, (const char *const[]){"node", "op", "output", "FLOPs", "bytes", "device", "variant", "row"});
  for (uint32_t i = 0; i < sum->nodes; i++) {
    const ph_node_report *node = ph_session_node(session, i);
    cli_text flops = cli_count_text(node->flops), bytes = cli_bytes_text(node->bytes);
    cli_table_add(&table, (const char *const[]){node->path, node->op, node->output_type, flops.text, bytes.text,
                                                node->device != NULL ? node->device : "refused",
                                                node->variant != NULL ? node->variant : "", row_text(node).text});
  }
  cli_text flops = cli_count_text(sum->flops), bytes = cli_bytes_text(sum->bytes);
  cli_table_add(&table, (const char *const[]){"sum", "", "", flops.text, bytes.text, "", "", ""});
  return cli_table_print(&table, stdout, error);
}

/* What the table has no room for: what fused and merged nodes stand for, and why others were refused or left as they
 * are. */
static void print_remarks(const ph_session *session, const ph_device_entry *device) {
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    if (node->members != NULL) {
      printf("%s: %s takes the place of", node->merged ? "merged" : "fused", node->path);
      for (uint32_t step = 0; node->members[step] != NULL; step++)
        printf("%s %s", step > 0 ? "," : "", node->members[step]);
      fputc('\n', stdout);
    }
    if (node->note != NULL) printf("note: %s: %s\n", node->path, node->note);
    if (node->reason == NULL) continue;
    printf("%s: %s: %s: %s\n", node->device != NULL ? "moved" : "refused", node->path, device->spec, node->reason);
  }
}

static void print_memory(const ph_session *session) {
  ph_memory_report memory = ph_session_memory(session);
  printf("memory: inputs %s, outputs %s, constants %s, arena %s, workspace %s\n", cli_bytes_text(memory.inputs).text,
         cli_bytes_text(memory.outputs).text, cli_bytes_text(memory.constants).text, cli_bytes_text(memory.arena).text,
         cli_bytes_text(memory.workspace).text);
}

static json_t *dims_json(const ph_session *session) {
  json_t *dims = json_object();
  for (uint32_t i = 0; i < ph_session_dim_count(session) && dims != NULL; i++) {
    int64_t value = 0;
    const char *name = ph_session_dim(session, i, &value);
    if (json_object_set_new(dims, name, json_integer(value)) == 0) continue;
    json_decref(dims);
    dims = NULL;
  }
  return dims;
}

static const char *fate_text(ph_node_fate fate) {
  return fate == PH_NODE_IS_VIEW ? "view" : fate == PH_NODE_IS_FOLDED ? "folded" : "run";
}

static json_t *nodes_json(const ph_session *session) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    array = cli_json_append(
        array, json_pack("{so so so sb ss so so sI so so so so so so}", "path", cli_json_text(node->path), "op",
                         cli_json_text(node->op), "fused", cli_json_texts(node->members), "merged", node->merged,
                         "fate", fate_text(node->fate), "output", cli_json_text(node->output_type), "flops",
                         cli_json_real(node->flops), "bytes", (json_int_t)node->bytes, "device",
                         cli_json_text(node->device), "variant", cli_json_text(node->variant), "reason",
                         cli_json_text(node->reason), "note", cli_json_text(node->note), "order",
                         cli_json_text(node->order), "shape_class", cli_json_text(node->shape_class)));
  }
  return array;
}

static ph_status fill_document(const ph_model *model, const ph_session *session, const totals *sum, json_t *json,
                               ph_error *error) {
  ph_memory_report memory = ph_session_memory(session);
  PH_TRY(cli_json_set(json, "model", cli_json_text(ph_model_name(model)), error));
  PH_TRY(cli_json_set(json, "device", cli_json_device(ph_session_device(session)), error));
  PH_TRY(cli_json_set(json, "dims", dims_json(session), error));
  PH_TRY(cli_json_set(json, "nodes", nodes_json(session), error));
  PH_TRY(cli_json_set(json, "total",
                      json_pack("{si si si so sI}", "nodes", (int)sum->nodes, "refused", (int)sum->refused, "moved",
                                (int)sum->moved, "flops", cli_json_real(sum->flops), "bytes", (json_int_t)sum->bytes),
                      error));
  if (sum->refused > 0) return PH_OK; /* nothing was laid out */
  return cli_json_set(json, "memory",
                      json_pack("{sI sI sI sI sI}", "inputs", (json_int_t)memory.inputs, "outputs",
                                (json_int_t)memory.outputs, "constants", (json_int_t)memory.constants, "arena",
                                (json_int_t)memory.arena, "workspace", (json_int_t)memory.workspace),
                      error);
}

static ph_status report(const ph_model *model, const ph_session *session, cli_result *result, ph_error *error) {
  const ph_device_entry *device = ph_session_device(session);
  totals sum = add_up(session);
  if (sum.refused > 0) {
    bool is_reference = strcmp(device->backend, "reference") == 0;
    result->exit_code = CLI_EXIT_UNSUPPORTED;
    fprintf(stderr, "polyhead: %s refuses %u of %u nodes%s\n", device->spec, sum.refused, sum.nodes,
            is_reference ? "" : "; --fallback reference would run them there");
  }
  if (result->json != NULL) return fill_document(model, session, &sum, result->json, error);
  printf("%s on %s (%s, %s)\n", ph_model_name(model), device->spec, cli_device_kind_text(device->info.kind),
         device->info.name);
  print_dims(session);
  fputc('\n', stdout);
  PH_TRY(print_nodes(session, &sum, error));
  fputc('\n', stdout);
  print_remarks(session, device);
  if (sum.refused == 0) print_memory(session); /* else nothing was laid out */
  return PH_OK;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  cli_inputs inputs = {0};
  ph_model *model = NULL;
  ph_context *context = NULL;
  ph_session *session = NULL;
  ph_status status = cli_model_open(options, &model, error);
  if (status == PH_OK) status = cli_inputs_open(options, &inputs, error);
  if (status == PH_OK) status = cli_context_open(options, &context, error);
  if (status == PH_OK) status = cli_session_open(options, context, model, &inputs, NULL, 0, &session, error);
  if (status == PH_OK) status = ph_session_prepare(session, true, error);
  if (status == PH_OK) status = report(model, session, result, error);
  ph_session_destroy(session);
  ph_context_destroy(context);
  ph_model_destroy(model);
  cli_inputs_close(&inputs);
  return status;
}

const cli_command cli_check = {
    .name = "check",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICE | CLI_WEIGHTS | CLI_INPUT | CLI_DIM | CLI_RANDOM | CLI_FALLBACK | CLI_COMMON,
    .summary = "show shapes, costs and who would run each node; run nothing",
    .text =
        "Lists each node with its op, output, FLOPs, bytes, device and variant, or why the device refuses it; a view\n"
        "costs nothing, what is folded is computed here and now.  Then what was fused and merged, what was not and\n"
        "why, sums and memory.  Runs nothing.  Exits with 3 where a node is refused and nobody takes it.",
    .run = run,
};
