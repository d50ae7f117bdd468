/* The host code of the OpenCL backend with an op of the tests' own, and a whole life with it: what is tested is
 * everything around the kernels. */
#ifndef POLYHEAD_TEST_TOY_H
#define POLYHEAD_TEST_TOY_H

#include <polyhead/backend.h>

#include "base/text.h"

/* The backend as a module would export it: every device, or those of PoCL alone.
 *
 * It knows one op, `mix`: y = 2·x + w[i mod 4] + 10 + 0.5 + (z absent ? 0 : z), for x, y f32 of any shape; w a constant
 * of 4 elements, rearranged once for the program. Two launches, with workspace, both kinds of tables, local memory, scalars and an absent tensor.
 * Variants: `fast` wants a work-group of exactly 32, `careful` takes what it gets. */
const ph_backend *toy_backend(bool pocl_only);
enum { TOY_PACKED = 384 }; /* bytes of the rearranged constant */

/* Collects the log. */
typedef struct toy_host {
  ph_host host; /* its user is this struct */
  ph_text log;
} toy_host;
void toy_host_init(toy_host *host, const char *cache_dir);
void toy_host_free(toy_host *host);

enum { TOY_NODES = 2 };

/* y = mix(mix(x)), x of `count` elements, strides as given. */
typedef struct toy_graph {
  ph_graph graph;
  ph_tensor_desc tensors[4];
  const ph_tensor_desc *tensor_pointers[4];
  ph_node nodes[TOY_NODES];
  const ph_node *node_pointers[TOY_NODES];
  uint32_t inputs[TOY_NODES][3], outputs[TOY_NODES][1];
} toy_graph;
enum { TOY_X, TOY_W, TOY_INNER, TOY_Y };
void toy_graph_init(toy_graph *graph, int64_t count);
float toy_expected(float x, int64_t index); /* of the whole graph */

/* From open() to close(), with everything in between; whatever was made is destroyed, in the right order, however far
 * it came. */
typedef struct toy_life {
  const ph_option *options; /* of the device */
  uint32_t option_count, device;
  int64_t count;
  uint32_t runs; /* at least 1 */
  /* Results. */
  ph_status status;
  ph_error error;
  uint32_t device_count;
  ph_device_info limits;
  ph_support support;
  ph_node_time times[TOY_NODES];
  float first, last; /* elements of y */
  bool right;        /* all of them are as expected */
} toy_life;
void toy_live(const ph_backend *backend, const toy_host *host, toy_life *life);

#endif
