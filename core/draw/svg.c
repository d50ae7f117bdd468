#include "draw/svg.h"

#include "base/error.h"

#ifdef POLYHEAD_GRAPHVIZ

#include <graphviz/gvc.h>
#include <stdlib.h>
#include <string.h>

static ph_status render(GVC_t *context, Agraph_t *graph, char **out, size_t *out_size, ph_error *error) {
  char *data = NULL;
  unsigned size = 0;
  if (gvLayout(context, graph, "dot") != 0) return ph_fail(error, PH_INTERNAL, "Graphviz could not lay the graph out");
  ph_status status = PH_OK;
  if (gvRenderData(context, graph, "svg", &data, &size) != 0) {
    status = ph_fail(error, PH_INTERNAL, "Graphviz could not draw the graph");
  } else {
    *out = malloc((size_t)size + 1); /* Graphviz frees its own memory its own way */
    if (*out == NULL)
      status = ph_fail_memory(error);
    else {
      memcpy(*out, data, size);
      (*out)[size] = '\0';
      *out_size = size;
    }
    gvFreeRenderData(data);
  }
  gvFreeLayout(context, graph);
  return status;
}

ph_status ph_svg_of_dot(const char *dot, char **out, size_t *out_size, ph_error *error) {
  GVC_t *context = gvContext();
  if (context == NULL) return ph_fail_memory(error);
  Agraph_t *graph = agmemread(dot);
  ph_status status = graph == NULL ? ph_fail(error, PH_INTERNAL, "Graphviz could not read the graph")
                                   : render(context, graph, out, out_size, error);
  if (graph != NULL) agclose(graph);
  gvFreeContext(context);
  return status;
}

#else

ph_status ph_svg_of_dot(const char *dot, char **out, size_t *out_size, ph_error *error) {
  (void)dot;
  (void)out;
  (void)out_size;
  return ph_fail(error, PH_UNSUPPORTED,
                 "this build has no Graphviz, so it draws no SVG: take --format dot or mermaid, or build "
                 "with libgraphviz-dev");
}

#endif
