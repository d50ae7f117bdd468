#include "opencl/tuning.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "opencl/device.h"

/* ---- rows that are built in ---- */

/* By class of device, from `polyhead tune` on one of its kind.  A class that is not here has the order of its op's
 * table, which is made for the common case. */
static const cl_tuning_row built_in[] = {
    {NULL, NULL},
};

/* ---- classes ---- */

/* The lower end of the step in which a number lies, in words. */
typedef struct step {
  int64_t least;
  const char *text;
} step;

static const char *step_of(const step *steps, int64_t value) {
  const char *text = steps->text;
  for (; steps->text != NULL && value >= steps->least; steps++) text = steps->text;
  return text;
}

/* One token, a few, more than a tile has rows, many. */
static const step row_steps[] = {{0, "1"}, {2, "2+"}, {17, "17+"}, {129, "129+"}, {0, NULL}};
/* Elements of one matrix: in a core's cache, or not. */
static const step size_steps[] = {{0, "small"}, {1 << 18, "256K+"}, {1 << 22, "4M+"}, {0, NULL}};
static const step key_steps[] = {{0, "1+"}, {257, "257+"}, {2049, "2049+"}, {0, NULL}};
static const step head_steps[] = {{0, "1+"}, {65, "65+"}, {0, NULL}};

static const char *profile_name(const ph_device *device) {
  return device->profile == CL_PROFILE_CPU ? "cpu" : device->profile == CL_PROFILE_GPU ? "gpu" : "baseline";
}

/* The narrowest type among the inputs: less to read may ask for another kernel. */
static const char *type_name(const ph_graph *graph, const ph_node *node) {
  const char *name = "f32";
  for (uint32_t i = 0; i < node->input_count; i++) {
    const ph_tensor_desc *input = ph_node_input(graph, node, i);
    if (input != NULL && (input->dtype == PH_F16 || input->dtype == PH_BF16)) name = "half";
  }
  return name;
}

static int64_t extent(const ph_tensor_desc *desc, uint32_t from_end) {
  return desc != NULL && desc->rank >= from_end ? desc->dims[desc->rank - from_end] : 1;
}

/* A linear's batch axes are rows like any other; the second matrix is one. */
static void class_of_linear(const ph_graph *graph, const ph_node *node, char *out, size_t size) {
  const ph_tensor_desc *w = ph_node_input(graph, node, 1), *y = ph_node_output(graph, node, 0);
  int64_t columns = extent(y, 1);
  int64_t rows = y != NULL && columns > 0 ? ph_desc_count(y) / columns : 0;
  snprintf(out, size, "rows %s weight %s", step_of(row_steps, rows),
           step_of(size_steps, w != NULL ? ph_desc_count(w) : 0));
}

static void class_of_product(const ph_graph *graph, const ph_node *node, char *out, size_t size) {
  const ph_tensor_desc *b = ph_node_input(graph, node, 1), *y = ph_node_output(graph, node, 0);
  snprintf(out, size, "rows %s matrix %s", step_of(row_steps, extent(y, 2)),
           step_of(size_steps, extent(b, 1) * extent(b, 2)));
}

static void class_of_attention(const ph_graph *graph, const ph_node *node, char *out, size_t size) {
  const ph_tensor_desc *q = ph_node_input(graph, node, 0), *k = ph_node_input(graph, node, 1);
  snprintf(out, size, "queries %s keys %s head %s", step_of(row_steps, extent(q, 2)), step_of(key_steps, extent(k, 2)),
           step_of(head_steps, extent(q, 1)));
}

static void class_of_other(const ph_graph *graph, const ph_node *node, char *out, size_t size) {
  const ph_tensor_desc *y = ph_node_output(graph, node, 0);
  snprintf(out, size, "elements %s", step_of(size_steps, y != NULL ? ph_desc_count(y) : 0));
}

static const struct {
  const char *op;
  void (*write)(const ph_graph *graph, const ph_node *node, char *out, size_t size);
} classes[] = {
    {"linear", class_of_linear},         {"fused_linear", class_of_linear},  {"matmul", class_of_product},
    {"scaled_scores", class_of_product}, {"weighted_sum", class_of_product}, {"attention", class_of_attention},
};

void cl_shape_class(const ph_device *device, const ph_graph *graph, const ph_node *node, char out[CL_CLASS]) {
  size_t length = (size_t)snprintf(out, CL_CLASS, "%s %s %s ", profile_name(device), node->op, type_name(graph, node));
  if (length >= CL_CLASS) return;
  for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
    if (strcmp(classes[i].op, node->op) == 0) {
      classes[i].write(graph, node, out + length, CL_CLASS - length);
      return;
    }
  class_of_other(graph, node, out + length, CL_CLASS - length);
}

const cl_tuning_row *cl_tuning_find(const ph_device *device, const char *class) {
  for (uint32_t i = 0; i < device->tuning.count; i++)
    if (strcmp(device->tuning.rows[i].class, class) == 0) return &device->tuning.rows[i];
  for (const cl_tuning_row *row = built_in; row->class != NULL; row++)
    if (strcmp(row->class, class) == 0) return row;
  return NULL;
}

bool cl_tuning_is_measured(const ph_device *device, const cl_tuning_row *row) {
  return row >= device->tuning.rows && row < device->tuning.rows + device->tuning.count;
}

/* ---- the file ---- */

/* "CLASS : NAME NAME.."; false when out of memory.  What is no such line is left out. */
static bool read_row(const char *line, size_t length, cl_tuning *out) {
  char *text = ph_arena_copy(&out->arena, line, length);
  if (text == NULL) return false;
  char *colon = strstr(text, " : ");
  if (colon == NULL) return true;
  *colon = '\0';
  const char **names = ph_arena_array(&out->arena, length / 2 + 1, sizeof(*names));
  cl_tuning_row *row = ph_arena_push(&out->arena, &out->rows, &out->count, &out->capacity, sizeof(*row));
  if (names == NULL || row == NULL) return false;
  uint32_t count = 0;
  char *rest = NULL;
  for (char *name = strtok_r(colon + 3, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
    names[count++] = name;
  *row = (cl_tuning_row){.class = text, .names = names};
  return true;
}

ph_status cl_tuning_read(const char *path, cl_tuning *out, ph_error *error) {
  static const char mark[] = "row ";
  ph_file_map map;
  *out = (cl_tuning){0};
  PH_TRY(ph_file_map_open(path, &map, error));
  bool fine = true;
  const char *at = (const char *)map.data, *end = at + map.size;
  while (fine && at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = stop != NULL ? (size_t)(stop - at) : (size_t)(end - at);
    if (length > sizeof(mark) - 1 && memcmp(at, mark, sizeof(mark) - 1) == 0)
      fine = read_row(at + sizeof(mark) - 1, length - (sizeof(mark) - 1), out);
    at += length + 1;
  }
  ph_file_map_close(&map);
  if (fine) return PH_OK;
  cl_tuning_free(out);
  return ph_fail_memory(error);
}

void cl_tuning_free(cl_tuning *tuning) {
  ph_arena_free(&tuning->arena);
  *tuning = (cl_tuning){0};
}
