/* mutants PLUGIN CONFIG [--random]: puts a fault into each node of a config in turn and asks compare to find it.
 * The backend `mutant` (tests/plugins) computes like the reference, except in the node that its option `node` names. */
#include <polyhead/polyhead.h>

#include <string.h>

/* The paths of the nodes that run on the mutant, NULL-terminated in the session; -1 when they cannot be had. */
static int prepare(ph_context *context, ph_model *model, ph_session **session, ph_error *error) {
  const ph_session_options options = {.struct_size = sizeof options, .device = "mutant"};
  if (ph_session_create(context, model, &options, session, error) != PH_OK ||
      ph_session_prepare(*session, false, error) != PH_OK)
    return -1;
  return (int)ph_session_node_count(*session);
}

/* True if compare blames `path`, and `path` alone, on a mutant that is wrong there. */
static bool is_caught(ph_context *context, ph_model *model, const char *path) {
  ph_error error = {.struct_size = sizeof error};
  char spec[512];
  snprintf(spec, sizeof spec, "mutant,node=%s", path);
  const char *device = spec;
  const ph_compare_options options = {.struct_size = sizeof options, .devices = &device, .device_count = 1};
  ph_comparison *comparison = NULL;
  if (ph_compare(context, model, &options, &comparison, &error) != PH_OK) {
    fprintf(stderr, "%s: cannot be compared: %s\n", path, error.message);
    return false;
  }
  const ph_compare_device *result = ph_comparison_device(comparison, 0);
  bool caught = !result->pass;
  if (result->pass) fprintf(stderr, "%s: compare sees no fault\n", path);
  for (uint32_t i = 0; i < result->node_count; i++)
    if (result->nodes[i].pass == (strcmp(result->nodes[i].path, path) == 0)) {
      fprintf(stderr, "%s: compare %s %s\n", path, result->nodes[i].pass ? "passes" : "blames", result->nodes[i].path);
      caught = false;
    }
  if (caught && strcmp(result->nodes[result->first_failed].path, path) != 0) {
    fprintf(stderr, "%s: compare names %s first\n", path, result->nodes[result->first_failed].path);
    caught = false;
  }
  ph_comparison_destroy(comparison);
  return caught;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *plugin = argv[1];
  ph_error error = {.struct_size = sizeof error};
  ph_context *context = NULL;
  ph_model *model = NULL;
  ph_session *session = NULL;
  const ph_context_options options = {.struct_size = sizeof options, .plugins = &plugin, .plugin_count = 1};
  const ph_model_options model_options = {.struct_size = sizeof model_options, .random = argc > 3};

  int count = -1, missed = 0;
  if (ph_context_create(&options, &context, &error) == PH_OK &&
      ph_model_load(argv[2], &model_options, &model, &error) == PH_OK)
    count = prepare(context, model, &session, &error);
  if (count < 0) fprintf(stderr, "%s\n", error.message);
  for (int i = 0; i < count; i++) missed += !is_caught(context, model, ph_session_node(session, (uint32_t)i)->path);
  printf("%d faults, %d not found\n", count, missed);

  ph_session_destroy(session);
  ph_model_destroy(model);
  ph_context_destroy(context);
  return count > 0 && missed == 0 ? 0 : 1;
}
