/* A run as one page of HTML that needs nothing else: graph, nodes with their times, memory, attention maps, outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "draw/escape.h"
#include "draw/report_page.h"
#include "runtime/session.h"

enum { MAX_MAP_BYTES = 48 << 20 }; /* of all attention maps together: a page beyond that opens badly */

/* Inside <script>, as JSON: "</" must not appear. */
static void put_json(ph_text *to, const char *text) {
  ph_text_add(to, "\"");
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      ph_text_add(to, "\\%c", c);
    else if (c < ' ' || c == '<')
      ph_text_add(to, "\\u%04x", c);
    else
      ph_text_put(to, text, 1);
  }
  ph_text_add(to, "\"");
}

static void put_base64(ph_text *to, const unsigned char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    unsigned long group =
        (unsigned long)bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] : 0u) << 8 | (i + 2 < size ? bytes[i + 2] : 0u);
    char four[4] = {digits[group >> 18], digits[group >> 12 & 63], i + 1 < size ? digits[group >> 6 & 63] : '=',
                    i + 2 < size ? digits[group & 63] : '='};
    ph_text_put(to, four, 4);
  }
}

/* ---- sections ---- */

static void put_head(ph_text *to, const ph_session *session) {
  const ph_model *model = session->model;
  const ph_device_entry *device = session->device->entry;
  ph_text_add(to, "%s<title>", ph_report_top);
  ph_put_escaped(to, model->name);
  ph_text_add(to, "</title>\n%s<h1>", ph_report_style);
  ph_put_escaped(to, model->name);
  ph_text_add(to, "</h1>\n");
  if (model->description != NULL) {
    ph_text_add(to, "<p>");
    ph_put_escaped(to, model->description);
    ph_text_add(to, "</p>\n");
  }
  ph_text_add(to, "<p class=\"facts\">on <b>%s</b>, ", device->spec);
  ph_put_escaped(to, device->info.name);
  ph_text_add(to, " (");
  ph_put_escaped(to, device->info.driver[0] != '\0' ? device->info.driver : device->info.platform);
  ph_text_add(to, ")</p>\n<p class=\"facts\">");
  for (uint32_t i = 0; i < model->dim_count; i++)
    ph_text_add(to, "<span class=\"dim\">%s = %lld</span> ", model->dims[i].name,
                (long long)session->current->dims[i].value);
  ph_text_add(to, "</p>\n");
}

static void put_graph(ph_text *to, ph_session *session) {
  char *drawing = NULL;
  size_t size = 0;
  ph_text_add(to, "<section><h2>Graph</h2>\n<div class=\"wide\" id=\"graph\">");
  if (ph_session_draw(session, PH_GRAPH_SVG, &drawing, &size, NULL) == PH_OK) {
    const char *start = strstr(drawing, "<svg"); /* what stands before it belongs to a file of its own */
    if (start != NULL) ph_text_add(to, "%s", start);
  } else if (ph_session_draw(session, PH_GRAPH_MERMAID, &drawing, &size, NULL) == PH_OK) {
    ph_text_add(to, "<pre>");
    ph_put_escaped(to, drawing);
    ph_text_add(to, "</pre>");
  }
  free(drawing);
  ph_text_add(to, "</div></section>\n");
}

static uint64_t time_of(const ph_node_report *node) {
  return node->end_ns - node->start_ns;
}

static void put_nodes(ph_text *to, const ph_session *session) {
  uint64_t total = 0;
  uint32_t count = ph_session_node_count(session);
  for (uint32_t i = 0; i < count; i++) total += time_of(ph_session_node(session, i));
  ph_text_add(
      to,
      "<section><h2>Nodes</h2>\n<div class=\"wide\"><table id=\"nodes\"><thead><tr><th>node<th>op<th>output<th>FLOPs"
      "<th>bytes<th>time<th>share<th>device<th>variant</tr></thead><tbody>\n");
  for (uint32_t i = 0; i < count; i++) {
    const ph_node_report *node = ph_session_node(session, i);
    double share = total > 0 ? 100.0 * (double)time_of(node) / (double)total : 0;
    ph_text_add(to, "<tr><td>");
    ph_put_escaped(to, node->path);
    ph_text_add(to,
                "<td>%s<td>%s<td class=\"n\">%.4g<td class=\"n\">%llu<td class=\"n\">%.1f µs<td><span class=\"bar\" "
                "style=\"width:%.1fpx\"></span> %.1f %%<td>%s<td>",
                node->op, node->output_type, node->flops, (unsigned long long)node->bytes, (double)time_of(node) / 1000,
                share, share, node->device != NULL ? node->device : "");
    ph_put_escaped(to, node->variant != NULL ? node->variant : "");
    ph_text_add(to, "</tr>\n");
  }
  ph_text_add(to, "</tbody></table></div>\n");
  if (total == 0) ph_text_add(to, "<p class=\"facts\">The device measures no times.</p>\n");
  ph_text_add(to, "</section>\n");
}

static void put_memory(ph_text *to, const ph_session *session) {
  ph_memory_report memory = ph_session_memory(session);
  ph_text_add(
      to,
      "<section><h2>Memory</h2>\n<table id=\"memory\"><tr><th>inputs<th>outputs<th>constants<th>arena<th>workspace</tr>"
      "<tr><td class=\"n\">%llu<td class=\"n\">%llu<td class=\"n\">%llu<td class=\"n\">%llu<td "
      "class=\"n\">%llu</tr></table>"
      "<p class=\"facts\">bytes</p></section>\n",
      (unsigned long long)memory.inputs, (unsigned long long)memory.outputs, (unsigned long long)memory.constants,
      (unsigned long long)memory.arena, (unsigned long long)memory.workspace);
}

/* The labels of an axis as JSON, null where there are none. */
static void put_labels(ph_text *to, const ph_model *model, const ph_dim *dim) {
  for (uint32_t k = 0; k < model->label_count && dim->name != NULL; k++) {
    const ph_model_labels *labels = &model->labels[k];
    if (strcmp(labels->dim, dim->name) != 0 || labels->count != dim->value) continue;
    ph_text_add(to, "[");
    for (uint32_t i = 0; i < labels->count; i++) {
      if (i > 0) ph_text_add(to, ",");
      put_json(to, labels->texts[i]);
    }
    ph_text_add(to, "]");
    return;
  }
  ph_text_add(to, "null");
}

static bool is_attention(const ph_net_node *node) {
  return strcmp(node->op->name, "softmax") == 0 || strcmp(node->op->name, "hardmax") == 0;
}

static void put_map(ph_text *to, const ph_session *session, const ph_net_value *value, const ph_tensor *tensor) {
  uint32_t rank = tensor->rank;
  ph_text_add(to, "{\"name\":");
  put_json(to, value->path);
  ph_text_add(to, ",\"heads\":%lld,\"rows\":%lld,\"columns\":%lld,\"row_labels\":",
              (long long)(rank >= 3 ? tensor->dims[rank - 3] : 1), (long long)tensor->dims[rank - 2],
              (long long)tensor->dims[rank - 1]);
  put_labels(to, session->model, &value->type.dims[rank - 2]);
  ph_text_add(to, ",\"column_labels\":");
  put_labels(to, session->model, &value->type.dims[rank - 1]);
  ph_text_add(to, ",\"data\":\"");
  /* The first sample, as f32 in the machine's order, which is little-endian on all that browsers run on. */
  size_t count = tensor->count / (rank == 4 && tensor->dims[0] > 0 ? (size_t)tensor->dims[0] : 1);
  float *values = malloc(count * sizeof(*values) + 1);
  if (values == NULL) to->failed = true;
  for (size_t i = 0; i < count && values != NULL; i++) values[i] = (float)ph_read_real(tensor->dtype, tensor->data, i);
  if (values != NULL) put_base64(to, (const unsigned char *)values, count * sizeof(*values));
  free(values);
  ph_text_add(to, "\"}");
}

static void put_attention(ph_text *to, const ph_session *session) {
  const ph_session_plan *plan = session->current;
  size_t bytes = 0;
  uint32_t drawn = 0, left_out = 0;
  ph_text_add(to, "<section id=\"attention\"><h2>Attention</h2>\n%s<script type=\"application/json\" id=\"maps\">[",
              ph_report_attention);
  for (uint32_t n = 0; n < plan->net->node_count; n++) {
    const ph_net_node *node = plan->net->nodes[n];
    const ph_tensor *tensor = is_attention(node) ? plan->values[node->outputs[0]] : NULL;
    if (tensor == NULL || tensor->rank < 2 || tensor->rank > 4 || tensor->count == 0) continue;
    bytes += tensor->count * sizeof(float);
    if (bytes > MAX_MAP_BYTES) {
      left_out++;
      continue;
    }
    if (drawn++ > 0) ph_text_add(to, ",\n");
    put_map(to, session, &plan->net->values[node->outputs[0]], tensor);
  }
  ph_text_add(to, "]</script>\n");
  if (left_out > 0) ph_text_add(to, "<p class=\"facts\">%u more maps are too large for this page.</p>\n", left_out);
  ph_text_add(to, "</section>\n");
}

static ph_status put_outputs(ph_text *to, const ph_session *session, ph_error *error) {
  ph_text_add(to, "<section><h2>Outputs</h2>\n");
  for (uint32_t i = 0; i < session->output_count; i++) {
    const ph_output *output = &session->outputs[i];
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    if (stream == NULL) return ph_fail_memory(error);
    ph_print_options how = {.struct_size = sizeof(how), .labels = output->labels};
    ph_tensor_print(stream, output->tensor, &how);
    bool good = fclose(stream) == 0;
    ph_text_add(to, "<h3>");
    ph_put_escaped(to, output->alias);
    ph_text_add(to, " <small>%s</small></h3>\n<pre class=\"wide\">", ph_dtype_name(output->tensor->dtype));
    if (good) ph_put_escaped(to, printed);
    ph_text_add(to, "</pre>\n");
    free(printed);
    if (!good) return ph_fail_memory(error);
  }
  ph_text_add(to, "</section>\n");
  return PH_OK;
}

ph_status ph_session_report(ph_session *session, char **out, size_t *out_size, ph_error *error) {
  if (session->current == NULL || (session->output_count > 0 && session->outputs[0].tensor == NULL))
    return ph_fail(error, PH_INVALID, "a report is about a run: run the session first");
  ph_text text = {0};
  put_head(&text, session);
  put_attention(&text, session);
  put_nodes(&text, session);
  put_memory(&text, session);
  put_graph(&text, session);
  ph_status status = put_outputs(&text, session, error);
  ph_text_add(&text, "%s", ph_report_script);
  if (status == PH_OK && text.failed) status = ph_fail_memory(error);
  if (status != PH_OK) {
    ph_text_free(&text);
    return status;
  }
  *out = text.data;
  *out_size = text.length;
  return PH_OK;
}
