/* polyhead graph: the graph of a config as a drawing. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "json.h"
#include "setup.h"

static ph_status find_format(const char *name, ph_graph_format *out, ph_error *error) {
  static const char *const names[] = {[PH_GRAPH_DOT] = "dot", [PH_GRAPH_MERMAID] = "mermaid", [PH_GRAPH_SVG] = "svg"};
  *out = PH_GRAPH_DOT;
  if (name == NULL) return PH_OK;
  for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (strcmp(names[i], name) == 0) {
      *out = (ph_graph_format)i;
      return PH_OK;
    }
  return ph_fail(error, PH_INVALID, "--format takes dot, mermaid or svg, not '%s'", name);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  ph_graph_format format;
  PH_TRY(find_format(options->format, &format, error));
  ph_context *context = NULL;
  ph_model *model = NULL;
  ph_session *session = NULL;
  char *text = NULL;
  size_t size = 0;
  /* Where nobody asks for a device the drawing should not depend on what this machine has. */
  ph_session_options wanted = {.struct_size = sizeof(wanted),
                               .fallback = options->fallback,
                               .device = options->devices.count > 0 ? options->devices.items[0] : "reference"};
  ph_status status = cli_model_open(options, &model, error);
  if (status == PH_OK) status = cli_context_open(options, &context, error);
  if (status == PH_OK) status = ph_session_create(context, model, &wanted, &session, error);
  if (status == PH_OK) status = ph_session_draw(session, format, &text, &size, error);
  if (status == PH_OK && result->json != NULL)
    status = cli_json_set(result->json, "graph", cli_json_text(text), error);
  else if (status == PH_OK)
    fwrite(text, 1, size, stdout);
  free(text);
  ph_session_destroy(session);
  ph_model_destroy(model);
  ph_context_destroy(context);
  return status;
}

const cli_command cli_graph = {
    .name = "graph",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICE | CLI_WEIGHTS | CLI_DIM | CLI_RANDOM | CLI_FORMAT | CLI_FALLBACK | CLI_COMMON,
    .summary = "draw the graph of a config",
    .text =
        "Prints the graph as DOT (for Graphviz), as Mermaid (for Markdown) or as an SVG picture: inputs, weights and\n"
        "states, nodes with their ops, shapes along the edges, a fused group in one double box with its steps.\n"
        "With -d as that device would run it; without, as the reference would.  Runs nothing.",
    .run = run,
};
