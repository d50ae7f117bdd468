/* mutants PLUGIN CONFIG [DIM=VALUE]...: puts a fault into each node of a config in turn and asks compare to find it;
 * where attention is fused, in its steps too.  The backend `mutant` (tests/plugins) computes like the reference, except
 * in the node that its option `node` names.  Weights that are in no file are made up. */
#include <polyhead/polyhead.h>

#include <string.h>

/* True if compare blames `path`, and `path` alone, on the mutant `device` made wrong there. */
static bool is_caught(ph_context *context, ph_model *model, const char *device, const char *path) {
  ph_error error = {.struct_size = sizeof error};
  char text[512];
  snprintf(text, sizeof text, "%s,node=%s", device, path);
  const char *spec = text;
  const ph_compare_options options = {.struct_size = sizeof options, .devices = &spec, .device_count = 1};
  ph_comparison *comparison = NULL;
  if (ph_compare(context, model, &options, &comparison, &error) != PH_OK) {
    fprintf(stderr, "%s: cannot be compared: %s\n", spec, error.message);
    return false;
  }
  const ph_compare_device *result = ph_comparison_device(comparison, 0);
  bool caught = !result->pass && result->first_failed < result->node_count &&
                strcmp(result->nodes[result->first_failed].path, path) == 0;
  if (!caught) fprintf(stderr, "%s: compare does not name it\n", spec);
  for (uint32_t i = 0; i < result->node_count; i++) {
    if (result->nodes[i].pass || strcmp(result->nodes[i].path, path) == 0) continue;
    fprintf(stderr, "%s: compare blames %s\n", spec, result->nodes[i].path);
    caught = false;
  }
  ph_comparison_destroy(comparison);
  return caught;
}

/* Spoils each node that runs on `device` in turn; false if a fault was not found, or if there was no node.
 * *fused: one of them was an attention. */
static bool are_all_caught(ph_context *context, ph_model *model, const char *device, bool *fused) {
  ph_error error = {.struct_size = sizeof error};
  ph_session *session = NULL;
  const ph_session_options options = {.struct_size = sizeof options, .device = device};
  uint32_t count = 0, missed = 0;
  if (ph_session_create(context, model, &options, &session, &error) == PH_OK &&
      ph_session_prepare(session, false, &error) == PH_OK)
    count = ph_session_node_count(session);
  else
    fprintf(stderr, "%s: %s\n", device, error.message);
  *fused = false;
  for (uint32_t i = 0; i < count; i++) {
    const ph_node_report *node = ph_session_node(session, i);
    *fused = *fused || strcmp(node->op, "attention") == 0;
    missed += !is_caught(context, model, device, node->path);
  }
  printf("%s: %u faults, %u not found\n", device, count, missed);
  ph_session_destroy(session);
  return count > 0 && missed == 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *plugin = argv[1];
  ph_error error = {.struct_size = sizeof error};
  ph_context *context = NULL;
  ph_model *model = NULL;
  const ph_context_options options = {.struct_size = sizeof options, .plugins = &plugin, .plugin_count = 1};
  const ph_model_options model_options = {.struct_size = sizeof model_options,
                                          .random = true,
                                          .dims = (const char *const *)argv + 3,
                                          .dim_count = (uint32_t)argc - 3};
  bool good = false, fused = false;
  if (ph_context_create(&options, &context, &error) != PH_OK ||
      ph_model_load(argv[2], &model_options, &model, &error) != PH_OK)
    fprintf(stderr, "%s\n", error.message);
  else
    good = are_all_caught(context, model, "mutant", &fused) &&
           (!fused || are_all_caught(context, model, "mutant,refuse=attention", &fused));
  ph_model_destroy(model);
  ph_context_destroy(context);
  return good ? 0 : 1;
}
