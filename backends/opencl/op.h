/* What the author of an op sees of the OpenCL backend: a table of ops, each with variants in order of preference, and a
 * small builder with which a variant says what to launch.  The host code (device.c, program.c, plan.c ...) knows no op;
 * the ops (ops/<op>.c beside kernels/<op>.cl) know no OpenCL API. */
#ifndef POLYHEAD_OPENCL_OP_H
#define POLYHEAD_OPENCL_OP_H

#include <polyhead/backend.h>
#include <polyhead/node.h>

#include "base/error.h"
#include "base/text.h"

/* Limits of the device as opened (pretended ones included). */
typedef struct cl_limits {
  bool is_cpu;
  size_t max_work_group;
  uint64_t local_memory;
  uint64_t max_buffer;
  uint32_t compute_units;
  uint32_t width; /* floats in a vector that kernels made for this device use: its native ones, 4 to 16 */
} cl_limits;

typedef struct cl_plan_node cl_plan_node; /* a node being planned */
typedef struct cl_launch cl_launch;
typedef struct cl_library_call cl_library_call; /* something that a library does (gemm.h); the host code knows more */

enum { CL_PROFILE_BASELINE = 1u << 0, CL_PROFILE_CPU = 1u << 1, CL_PROFILE_GPU = 1u << 2, CL_PROFILE_ALL = 7u };

typedef struct cl_variant {
  const char *name;              /* "plain": what variant= and `check` call it */
  const char *file;              /* "linear.cl", or several with blanks between; after common.cl */
  unsigned profiles;             /* in which profiles it is tried */
  ph_dtype stages[PH_STAGE_MAX]; /* what supports() declares; PH_DTYPE_NONE where the op has no such stage */
  /* May this variant run the node?  Concrete dims; no OpenCL call.  NULL: always.  If not, `reason` says what is
   * missing. */
  bool (*can_run)(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]);
  /* Adds -D options beyond those that every build gets (below).  A program serves many lengths and must not compile for
   * each: they may look at dtypes, attributes that do not vary, dims of constants, sizes of heads, whether an axis is
   * dense, and classes of lengths, of which there are few.  NULL: none. */
  void (*options)(const ph_graph *graph, const ph_node *node, ph_text *out);
  /* Says what to launch; concrete dims.  A node without output elements is never planned. */
  ph_status (*plan)(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error);
} cl_variant;

typedef struct cl_op {
  const char *name;
  uint32_t version; /* newest known */
  const cl_variant *variants;
  uint32_t variant_count;
  bool alike; /* all inputs have one dtype and may be many (concat): builds are given IN0 alone */
  /* Makes the node tiny for a trial (trial.h): sets dims of copies of its tensors, by role, NULL where absent, to about
   * `most` and less; strides follow.  *out_index is what index inputs then hold.  False where it cannot be done.  NULL:
   * its variants are not tried. */
  bool (*shrink)(int64_t most, const ph_node *node, ph_tensor_desc *const *inputs, ph_tensor_desc *const *outputs,
                 int64_t *out_index);
} cl_op;

extern const cl_op *const cl_ops[];
extern const uint32_t cl_op_count;

/* Every build is given, for each input r and output s that is present, -DIN<r>=<type> and -DOUT<s>=<type> with
 * <type> one of F32 F16 BF16 I32 I64 BOOL; ops whose inputs are `alike` get IN0 for all.  Then -DWIDTH=<4, 8 or 16>,
 * cl_limits' width. */

/* ---- the builder: valid inside cl_variant.plan() ---- */

const cl_limits *cl_plan_limits(const cl_plan_node *plan);

/* Launches `kernel` over `global` work-items (1 to 3 axes, each at least 1).  The host picks an explicit local size no
 * larger than `local` (a wish; {0} lets it choose) and what kernel and device allow, and rounds `global` up: kernels
 * guard against items past the end.  `exact_local`: the local size must be exactly `local` (kernels with barriers); the
 * variant checked in can_run() that it fits.  Launches of a node run in order.  Returns NULL when out of memory: the
 * argument calls then do nothing and cl_plan_done() reports it. */
cl_launch *cl_plan_launch(cl_plan_node *plan, const char *kernel, uint32_t axes, const size_t global[3],
                          const size_t local[3], bool exact_local);

/* Has a library do something in the place of a kernel: cl_arg_tensor() and cl_arg_workspace() alone name its arguments,
 * and a copy of `data` goes with it.  NULL as above. */
cl_launch *cl_plan_call(cl_plan_node *plan, const cl_library_call *call, const void *data, size_t size);

/* Arguments, in the order of the kernel's parameters. */
void cl_arg_tensor(cl_launch *launch, uint32_t tensor);    /* two parameters: __global T *, and ulong first element;
                                                              PH_NONE    gives NULL and 0 */
void cl_arg_workspace(cl_launch *launch, uint64_t offset); /* two parameters: __global float *, and ulong first float */
void cl_arg_table(cl_launch *launch, uint64_t first); /* two parameters: __global const long *, and ulong first entry */
void cl_arg_real_table(cl_launch *launch, uint64_t first); /* two parameters: __global const float *, and ulong first */
void cl_arg_long(cl_launch *launch, int64_t value);
void cl_arg_int(cl_launch *launch, int32_t value);
void cl_arg_float(cl_launch *launch, float value);
void cl_arg_local(cl_launch *launch, size_t bytes); /* one parameter: __local T * */

/* A copy of a constant, rearranged by a kernel of the variant's own file.  It is made once per program, when the first
 * plan asks for it, and lives as long as the program; plans and nodes share it: what the kernel writes may depend on
 * the constant, on `shape` and on the device, and on nothing else.  Parameters of the kernel: the constant (pointer and
 * first element), the copy (__global float *, and ulong first float), `shape` (__global const long *, and ulong first
 * entry). */
enum { CL_PACKING_SHAPE = 32 };
typedef struct cl_packing {
  const char *kernel; /* a literal */
  size_t global[3];   /* work-groups of one item */
  uint64_t bytes;     /* of the copy, at least 1 */
  int64_t shape[CL_PACKING_SHAPE];
  size_t shape_count;
} cl_packing;
void cl_arg_packed(cl_launch *launch, uint32_t tensor, const cl_packing *packing); /* two parameters: __global float *,
                                                                                      and ulong first float */

/* Reserves scratch for this node; gives its byte offset for cl_arg_workspace().  Nodes share one area. */
uint64_t cl_plan_workspace(cl_plan_node *plan, uint64_t bytes);
/* Puts integers (dims, strides) or reals (a table of frequencies) where kernels can read them; gives the first index.
 */
uint64_t cl_plan_table(cl_plan_node *plan, const int64_t *values, size_t count);
uint64_t cl_plan_real_table(cl_plan_node *plan, const float *values, size_t count);
/* PH_OUT_OF_MEMORY if any call above failed; ends every plan(). */
PH_NODISCARD ph_status cl_plan_done(cl_plan_node *plan, ph_error *error);

#endif
