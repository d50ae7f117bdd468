/* polyhead compare: judges every node of a config on several devices. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "setup.h"

/* The largest ratio of |got - expected| to its bound; NULL where nothing was compared. */
static const ph_compare_node *worst_node(const ph_compare_device *device) {
  const ph_compare_node *worst = NULL;
  for (uint32_t i = 0; i < device->node_count; i++)
    if (worst == NULL || !(device->nodes[i].ratio <= worst->ratio)) worst = &device->nodes[i];
  return worst;
}

static void print_verdict(const ph_compare_device *device) {
  printf("%s (%s): ", device->spec, device->name);
  if (device->pass) {
    const ph_compare_node *worst = worst_node(device);
    cli_print_colored(stdout, CLI_GREEN, "agrees");
    printf(", %u nodes", device->node_count);
    if (worst != NULL) printf(", at most %.3g of the bound (at %s)", worst->ratio, worst->path);
    printf("; end to end within %.3g of an allowed %.3g\n", device->end_to_end, device->end_to_end_limit);
    return;
  }
  cli_print_colored(stdout, CLI_RED, "differs");
  if (device->first_failed == PH_NONE) {
    printf(" end to end, though every node agrees: output %s by %.3g of an allowed %.3g\n", device->end_to_end_output,
           device->end_to_end, device->end_to_end_limit);
    return;
  }
  const ph_compare_node *node = &device->nodes[device->first_failed];
  printf(" first at node '%s' (%s, variant %s), %lld of %lld elements of output %s\n", node->path, node->op,
         node->variant != NULL ? node->variant : "none", (long long)node->bad, (long long)node->compared, node->output);
  printf("  %s%s: expected %.9g, got %.9g, bound %.3g, %.3g times the bound\n", node->output,
         cli_list_text(node->rank, node->index).text, node->expected, node->got, node->bound, node->ratio);
  if (node->inside != NULL) printf("  a fused node: %s\n", node->inside);
  if (node->overrun) printf("  it wrote outside its outputs\n");
  if (!node->same_bits) printf("  a second run gave other bits\n");
}

static ph_status print_nodes(const ph_compare_device *device, ph_error *error) {
  cli_table table = {.columns = "lllllrrrrr"};
  cli_table_add(&table, (const char *const[]){"", "node", "op", "variant", "worst at", "expected", "got", "bound",
                                              "ratio", "bad"});
  for (uint32_t i = 0; i < device->node_count; i++) {
    const ph_compare_node *node = &device->nodes[i];
    char at[224], expected[32], got[32], bound[32], ratio[32], bad[48];
    snprintf(at, sizeof(at), "%s%s", node->output, cli_list_text(node->rank, node->index).text);
    snprintf(expected, sizeof(expected), "%.7g", node->expected);
    snprintf(got, sizeof(got), "%.7g", node->got);
    snprintf(bound, sizeof(bound), "%.2g", node->bound);
    snprintf(ratio, sizeof(ratio), "%.3g", node->ratio);
    snprintf(bad, sizeof(bad), "%lld/%lld", (long long)node->bad, (long long)node->compared);
    cli_table_add(&table, (const char *const[]){node->pass ? "  ok" : "  differs", node->path, node->op,
                                                node->variant != NULL ? node->variant : "", at, expected, got, bound,
                                                ratio, bad});
  }
  return cli_table_print(&table, stdout, error);
}

static json_t *node_json(const ph_compare_node *node) {
  return json_pack("{so so so so sb sb sb sI sI so so so so so so}", "path", cli_json_text(node->path), "op",
                   cli_json_text(node->op), "output", cli_json_text(node->output), "variant",
                   cli_json_text(node->variant), "pass", (int)node->pass, "same_bits", (int)node->same_bits, "overrun",
                   (int)node->overrun, "compared", (json_int_t)node->compared, "bad", (json_int_t)node->bad, "index",
                   cli_json_list(node->rank, node->index), "expected", cli_json_real(node->expected), "got",
                   cli_json_real(node->got), "bound", cli_json_real(node->bound), "ratio", cli_json_real(node->ratio),
                   "inside", cli_json_text(node->inside));
}

static json_t *device_json(const ph_compare_device *device) {
  json_t *nodes = json_array();
  for (uint32_t i = 0; i < device->node_count; i++) nodes = cli_json_append(nodes, node_json(&device->nodes[i]));
  json_t *first = device->first_failed == PH_NONE ? json_null() : node_json(&device->nodes[device->first_failed]);
  return json_pack("{so so sb so so so so so}", "spec", cli_json_text(device->spec), "name",
                   cli_json_text(device->name), "pass", (int)device->pass, "first_difference", first, "end_to_end",
                   cli_json_real(device->end_to_end), "end_to_end_limit", cli_json_real(device->end_to_end_limit),
                   "end_to_end_output", cli_json_text(device->end_to_end_output), "nodes", nodes);
}

static ph_status report(const cli_options *options, const ph_model *model, const ph_comparison *comparison,
                        cli_result *result, ph_error *error) {
  json_t *devices = result->json != NULL ? json_array() : NULL;
  for (uint32_t i = 0; i < ph_comparison_device_count(comparison); i++) {
    const ph_compare_device *device = ph_comparison_device(comparison, i);
    if (!device->pass) result->exit_code = CLI_EXIT_DIFFERENT;
    if (result->json != NULL)
      devices = cli_json_append(devices, device_json(device));
    else
      print_verdict(device);
    if (result->json == NULL && options->per_node) PH_TRY(print_nodes(device, error));
  }
  if (result->json == NULL) return PH_OK;
  PH_TRY(cli_json_set(result->json, "model", cli_json_text(ph_model_name(model)), error));
  PH_TRY(cli_json_set(result->json, "pass", json_boolean(result->exit_code == CLI_EXIT_GOOD), error));
  return cli_json_set(result->json, "devices", devices, error);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  if (options->devices.count == 0 && options->loads.count == 0)
    return ph_fail(error, PH_INVALID, "compare needs the devices to compare: -d A -d B; 'polyhead devices' lists them");
  cli_inputs inputs = {0};
  ph_model *model = NULL;
  ph_context *context = NULL;
  ph_comparison *comparison = NULL;
  ph_status status = cli_model_open(options, &model, error);
  if (status == PH_OK) status = cli_inputs_open(options, &inputs, error);
  if (status == PH_OK) status = cli_context_open(options, &context, error);
  if (status == PH_OK) {
    const char **names = ph_new_array(inputs.count, sizeof(char *));
    if (names == NULL) status = ph_fail_memory(error);
    for (uint32_t i = 0; i < inputs.count && names != NULL; i++) names[i] = inputs.pairs[i].name;
    ph_compare_options wanted = {.struct_size = sizeof(wanted),
                                 .devices = options->devices.items,
                                 .device_count = options->devices.count,
                                 .input_names = names,
                                 .inputs = inputs.tensors,
                                 .input_count = inputs.count,
                                 .save = options->save,
                                 .loads = options->loads.items,
                                 .load_count = options->loads.count,
                                 .equal_nan = options->equal_nan};
    if (status == PH_OK) status = ph_compare(context, model, &wanted, &comparison, error);
    free(names);
  }
  if (status == PH_OK) status = report(options, model, comparison, result, error);
  ph_comparison_destroy(comparison);
  ph_context_destroy(context);
  ph_model_destroy(model);
  cli_inputs_close(&inputs);
  return status;
}

const cli_command cli_compare = {
    .name = "compare",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICES | CLI_WEIGHTS | CLI_INPUT | CLI_DIM | CLI_RANDOM | CLI_PER_NODE | CLI_SAVE | CLI_LOAD |
               CLI_EQUAL_NAN | CLI_COMMON,
    .summary = "judge each node of a config on several devices",
    .text =
        "Feeds every node of CONFIG with the reference's inputs on each device (-d, repeated) and holds the result\n"
        "against the value in double precision and its derived bound.  Names the first node that differs, where,\n"
        "both values and the bound; then runs the whole and holds its outputs against what the bounds of all nodes\n"
        "together allow.  Exits with 1 where a device differs.\n"
        "Machines that never meet: --save on one, --load on the other, with the same config, inputs and weights.\n"
        "A NaN in saved outputs is a difference, unless --equal-nan is given and the right value is NaN, too.",
    .run = run,
};
