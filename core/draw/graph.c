/* The graph of a session as a drawing: DOT and Mermaid as text, SVG through Graphviz. */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "draw/svg.h"
#include "runtime/session.h"

/* What a vertex looks like. */
typedef enum look { INPUT, STATE, NUMBER, WEIGHT, PLAIN_NODE, FUSED_NODE, MOVED_NODE, IDLE_NODE, OUTPUT, LOOKS } look;

/* One way of writing a drawing down. */
typedef struct language {
  void (*begin)(ph_text *to, const char *title);
  /* `lines`: parts of a label, NULL-terminated.  `note`: what there is to say of it, or NULL. */
  void (*vertex)(ph_text *to, look how, char kind, uint32_t number, const char *const *lines, const char *note);
  void (*edge)(ph_text *to, char from_kind, uint32_t from, char to_kind, uint32_t number, const char *label);
  void (*end)(ph_text *to);
} language;

/* What a vertex is: a value from outside (v), a node (n) or a result (r). */
enum { VALUE = 'v', NODE = 'n', RESULT = 'r' };

/* ---- DOT ---- */

static void dot_text(ph_text *to, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') ph_text_put(to, "\\", 1);
    ph_text_put(to, text, 1);
  }
}

static void dot_begin(ph_text *to, const char *title) {
  ph_text_add(to, "digraph \"");
  dot_text(to, title);
  ph_text_add(to, "\" {\n  node [fontname=\"sans-serif\", fontsize=11];\n"
                  "  edge [fontname=\"sans-serif\", fontsize=9, color=\"#666666\"];\n");
}

static void dot_vertex(ph_text *to, look how, char kind, uint32_t number, const char *const *lines, const char *note) {
  static const char *const shapes[LOOKS] = {
      [INPUT] = "shape=ellipse, style=filled, fillcolor=\"#e8f1fb\"",
      [STATE] = "shape=cylinder, style=filled, fillcolor=\"#f3ecf8\"",
      [NUMBER] = "shape=plaintext",
      [WEIGHT] = "shape=note, style=filled, fillcolor=\"#f6f6f0\"",
      [PLAIN_NODE] = "shape=box, style=rounded",
      [FUSED_NODE] = "shape=box, peripheries=2, style=\"rounded,filled\", fillcolor=\"#fdf3d8\"",
      [MOVED_NODE] = "shape=box, style=\"rounded,dashed\"",
      [IDLE_NODE] = "shape=box, style=\"rounded,dotted\", fontcolor=\"#666666\"",
      [OUTPUT] = "shape=ellipse, style=filled, fillcolor=\"#e4f3e4\"",
  };
  ph_text_add(to, "  %c%u [%s, label=\"", kind, number, shapes[how]);
  for (uint32_t i = 0; lines[i] != NULL; i++) {
    if (i > 0) ph_text_add(to, "\\n");
    dot_text(to, lines[i]);
  }
  ph_text_add(to, "\"");
  if (note != NULL) {
    ph_text_add(to, ", tooltip=\"");
    dot_text(to, note);
    ph_text_add(to, "\"");
  }
  ph_text_add(to, "];\n");
}

static void dot_edge(ph_text *to, char from_kind, uint32_t from, char to_kind, uint32_t number, const char *label) {
  ph_text_add(to, "  %c%u -> %c%u [label=\"", from_kind, from, to_kind, number);
  dot_text(to, label);
  ph_text_add(to, "\"];\n");
}

static void dot_end(ph_text *to) {
  ph_text_add(to, "}\n");
}

static const language dot = {dot_begin, dot_vertex, dot_edge, dot_end};

/* ---- Mermaid ---- */

/* Quotes and angle brackets would end a label: they are written as entities. */
static void mermaid_text(ph_text *to, const char *text) {
  for (; *text != '\0'; text++) {
    if (strchr("\"<>#;[]", *text) != NULL)
      ph_text_add(to, "#%d;", *text);
    else
      ph_text_put(to, text, 1);
  }
}

static void mermaid_begin(ph_text *to, const char *title) {
  ph_text_add(to, "---\ntitle: \"");
  for (; *title != '\0'; title++) ph_text_put(to, *title == '"' ? "'" : title, 1);
  ph_text_add(to, "\"\n---\nflowchart TD\n");
}

static void mermaid_vertex(ph_text *to, look how, char kind, uint32_t number, const char *const *lines,
                           const char *note) {
  static const char *const brackets[LOOKS][2] = {
      [INPUT] = {"([", "])"},    [STATE] = {"[(", ")]"},    [NUMBER] = {"([", "])"},
      [WEIGHT] = {"([", "])"},   [PLAIN_NODE] = {"[", "]"}, [FUSED_NODE] = {"[[", "]]"},
      [MOVED_NODE] = {"[", "]"}, [IDLE_NODE] = {"(", ")"},  [OUTPUT] = {"([", "])"},
  };
  ph_text_add(to, "  %c%u%s\"", kind, number, brackets[how][0]);
  for (uint32_t i = 0; lines[i] != NULL; i++) {
    if (i > 0) ph_text_add(to, "<br/>");
    mermaid_text(to, lines[i]);
  }
  if (note != NULL) { /* it has no tooltips without a script */
    ph_text_add(to, "<br/><i>");
    mermaid_text(to, note);
    ph_text_add(to, "</i>");
  }
  ph_text_add(to, "\"%s\n", brackets[how][1]);
}

static void mermaid_edge(ph_text *to, char from_kind, uint32_t from, char to_kind, uint32_t number, const char *label) {
  ph_text_add(to, "  %c%u -->|\"", from_kind, from);
  mermaid_text(to, label);
  ph_text_add(to, "\"| %c%u\n", to_kind, number);
}

static void mermaid_end(ph_text *to) {
  (void)to;
}

static const language mermaid = {mermaid_begin, mermaid_vertex, mermaid_edge, mermaid_end};

/* ---- the graph ---- */

typedef struct drawing {
  const language *in;
  const ph_session *session;
  const ph_session_plan *plan;
  ph_text text;
  uint32_t *makers; /* by value: the node that makes it, PH_NONE for values from outside */
  bool *drawn;      /* by value: it has a vertex */
} drawing;

static const char *type_of(const ph_net_value *value, char *room, size_t size) {
  snprintf(room, size, "%s %s", ph_dtype_name(value->type.dtype), ph_type_text(&value->type));
  return room;
}

static void draw_outside(drawing *d, uint32_t value) {
  const ph_net_value *v = &d->plan->net->values[value];
  look how = v->kind == PH_TENSOR_INPUT   ? INPUT
             : v->kind == PH_TENSOR_STATE ? STATE
             : v->type.rank == 0          ? NUMBER
                                          : WEIGHT;
  if (!d->drawn[value]) d->in->vertex(&d->text, how, VALUE, value, (const char *[]){v->path, NULL}, NULL);
  d->drawn[value] = true;
}

/* "scores, masked, weights, mixed": what a fused or merged node stands for. */
static void list_steps(const ph_net_node *node, ph_text *out) {
  for (uint32_t i = 0; i < node->step_count; i++) {
    const char *path = node->steps[i]->path, *dot_at = strrchr(path, '.');
    ph_text_add(out, "%s%s", i == 0 ? "" : ", ", dot_at == NULL ? path : dot_at + 1);
  }
}

static void draw_node(drawing *d, uint32_t index) {
  const ph_net_node *node = d->plan->net->nodes[index];
  const ph_placement *placement = &d->plan->placements[index];
  ph_text steps = {0}, op = {0};
  list_steps(node, &steps);
  bool elsewhere = placement->device != d->session->device, idle = node->way != PH_NODE_RUNS;
  ph_text_add(&op, "%s%s%s", node->op->name, elsewhere ? " on " : "",
              node->way == PH_NODE_VIEW     ? ", a view"
              : node->way == PH_NODE_FOLDED ? ", folded"
              : !elsewhere                  ? ""
              : placement->device == NULL   ? "no device"
                                            : placement->device->entry->spec);
  const char *lines[] = {node->path, op.data, steps.data, NULL};
  look how = idle ? IDLE_NODE : node->step_count > 0 ? FUSED_NODE : elsewhere ? MOVED_NODE : PLAIN_NODE;
  d->in->vertex(&d->text, how, NODE, index, lines, node->note);
  d->text.failed = d->text.failed || steps.failed || op.failed;
  ph_text_free(&steps);
  ph_text_free(&op);
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t value = node->inputs[i];
    char label[256];
    if (value == PH_NONE) continue;
    type_of(&d->plan->net->values[value], label, sizeof(label));
    bool outside = d->makers[value] == PH_NONE;
    if (outside) draw_outside(d, value);
    d->in->edge(&d->text, outside ? VALUE : NODE, outside ? value : d->makers[value], NODE, index, label);
  }
}

static void draw_results(drawing *d) {
  for (uint32_t i = 0; i < d->session->output_count; i++) {
    uint32_t value = d->session->current->output_values[i];
    char label[256];
    type_of(&d->plan->net->values[value], label, sizeof(label));
    bool outside = d->makers[value] == PH_NONE;
    if (outside) draw_outside(d, value);
    d->in->vertex(&d->text, OUTPUT, RESULT, i, (const char *[]){d->session->outputs[i].alias, NULL}, NULL);
    d->in->edge(&d->text, outside ? VALUE : NODE, outside ? value : d->makers[value], RESULT, i, label);
  }
}

static ph_status draw(drawing *d, ph_error *error) {
  const ph_net *net = d->plan->net;
  d->makers = ph_new_array(net->value_count, sizeof(*d->makers));
  d->drawn = ph_new_array(net->value_count, sizeof(*d->drawn));
  if (d->makers == NULL || d->drawn == NULL) return ph_fail_memory(error);
  for (uint32_t v = 0; v < net->value_count; v++) d->makers[v] = PH_NONE;
  for (uint32_t n = 0; n < net->node_count; n++)
    for (uint32_t i = 0; i < net->nodes[n]->output_count; i++) d->makers[net->nodes[n]->outputs[i]] = n;
  d->in->begin(&d->text, d->session->model->name);
  for (uint32_t n = 0; n < net->node_count; n++) draw_node(d, n);
  draw_results(d);
  d->in->end(&d->text);
  return d->text.failed ? ph_fail_memory(error) : PH_OK;
}

ph_status ph_session_draw(ph_session *session, ph_graph_format format, char **out, size_t *out_size, ph_error *error) {
  PH_TRY(ph_session_prepare(session, true, error));
  drawing d = {.in = format == PH_GRAPH_MERMAID ? &mermaid : &dot, .session = session, .plan = session->current};
  ph_status status = draw(&d, error);
  free(d.makers);
  free(d.drawn);
  if (status == PH_OK && format == PH_GRAPH_SVG) {
    status = ph_svg_of_dot(d.text.data, out, out_size, error);
    ph_text_free(&d.text);
    return status;
  }
  if (status != PH_OK) {
    ph_text_free(&d.text);
    return status;
  }
  *out = d.text.data;
  *out_size = d.text.length;
  return PH_OK;
}
