/* Which variant of an op runs a node: the order in which they are tried, what each says, and which turned out not to
 * work with this driver. */
#ifndef POLYHEAD_OPENCL_VARIANT_H
#define POLYHEAD_OPENCL_VARIANT_H

#include "opencl/device.h"
#include "opencl/record.h"

enum { CL_REASON = 192 };

const cl_op *cl_find_op(const char *name); /* NULL if there is none */

/* Number `index` in the order in which the device tries the op's variants for this node, whose dims are concrete: the
 * one it was opened with (whatever the profile), then those of the row for its shapes (tuning.h), then those of its
 * profile as the table has them; NULL past the end. */
const cl_variant *cl_variant_at(const ph_device *device, const cl_op *op, const ph_graph *graph, const ph_node *node,
                                uint32_t index);

/* May it run the node within these limits?  If so and the node has elements to make, `record` holds its plan; it must
 * be freed in any case.  If not, `reason` says why. */
PH_NODISCARD ph_status cl_variant_try(ph_device *device, const cl_limits *limits, const cl_variant *variant,
                                      const ph_graph *graph, const ph_node *node, cl_plan_node *record, bool *out_fits,
                                      char reason[CL_REASON], ph_error *error);

/* The compiler options of a variant for a node. */
PH_NODISCARD ph_status cl_variant_options(const ph_device *device, const cl_op *op, const cl_variant *variant,
                                          const ph_graph *graph, const ph_node *node, ph_text *out, ph_error *error);

/* From now on this variant with these options is passed over on this device; says so once in the log.  Any thread. */
PH_NODISCARD ph_status cl_variant_retire(ph_device *device, const cl_op *op, const cl_variant *variant,
                                         const char *options, const char *reason, ph_error *error);
void cl_retired_free(ph_device *device);

#endif
