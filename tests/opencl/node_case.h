/* One node on the opencl plugin, judged by the oracle: what the tests of the kernels share.
 *
 * A test makes a case, adds operands and attributes, and runs it.  Inputs lie with gaps, turned or repeated as asked,
 * what lies between their elements is NaN, and outputs lie between guard bands, so that kernels that read or write
 * outside a tensor are caught. */
#ifndef POLYHEAD_TESTS_NODE_CASE_H
#define POLYHEAD_TESTS_NODE_CASE_H

#include <polyhead/backend.h>

enum { CASE_TENSORS = 16, CASE_ATTRS = 12 };

/* How an input lies in memory. */
typedef enum case_layout {
  DENSE,
  GAPS,  /* elements two apart, and some room after each axis */
  TURNED /* the first axis innermost */
} case_layout;

typedef struct node_case {
  const char *title;
  ph_tensor_desc tensors[CASE_TENSORS];
  unsigned char *memory[CASE_TENSORS]; /* inputs: what the layout spans */
  uint32_t tensor_count;
  uint32_t inputs[CASE_TENSORS], outputs[CASE_TENSORS];
  ph_attr attrs[CASE_ATTRS];
  ph_node node;
} node_case;

/* The title, made like printf, says what is special about the case; it is shown when the case fails. */
node_case *case_new(const char *op, const char *title, ...) __attribute__((format(printf, 2, 3)));

/* Adds the next input and gives its tensor.  Filled with normal numbers (reals), 0 or 1 (bool) or -9 .. 9 (integers).
 */
uint32_t case_input(node_case *c, ph_dtype dtype, case_layout layout, uint32_t rank, const int64_t *dims);
/* The same elements along the axes in `repeated`, a bit for each: stride 0. */
uint32_t case_input_repeated(node_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims, unsigned repeated);
void case_absent(node_case *c); /* the next role is left out */
uint32_t case_output(node_case *c, ph_dtype dtype, uint32_t rank, const int64_t *dims);
void case_output_unwanted(node_case *c);
void case_in_place(node_case *c); /* the next output is input 0 */

/* Changes elements of an input: number `index` in row-major order, or all of them. */
void case_set(node_case *c, uint32_t tensor, int64_t index, double value);
void case_fill(node_case *c, uint32_t tensor, double value);
void case_scale(node_case *c, uint32_t tensor, double factor, double shift);
int64_t case_count(const node_case *c, uint32_t tensor);

void case_integer(node_case *c, const char *name, int64_t value);
void case_real(node_case *c, const char *name, double value);
void case_text(node_case *c, const char *name, const char *value);
void case_list(node_case *c, const char *name, uint32_t count, const int64_t *items); /* items outlive the case */

/* Runs the case on every device that is open, fails the test where one disagrees with the oracle, and frees the case.
 */
void case_run(node_case *c);
/* The same without freeing: for a test that looks at the outputs, too. */
void case_run_keep(node_case *c);
/* Element `index` of an output, as the first device made it. */
double case_got(const node_case *c, uint32_t output, int64_t index);
void case_free(node_case *c);

/* Opens the devices: the one that POLYHEAD_TEST_DEVICE names (part of its name or platform; default PoCL) as it is,
 * with each of the pretended limits, and with variant=plain.  False, saying why, where there is no such device. */
bool case_devices_open(void);
void case_devices_close(void); /* and prints the largest share of the bound that each op took */

#define DIMS(...)                                                                                                      \
  (const int64_t[]) {                                                                                                  \
    __VA_ARGS__                                                                                                        \
  }
/* Rank and dims. */
#define SHAPE(...) sizeof(DIMS(__VA_ARGS__)) / sizeof(int64_t), DIMS(__VA_ARGS__)

#endif
