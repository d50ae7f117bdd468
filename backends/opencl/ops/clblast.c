/* Products by CLBlast, the OpenCL BLAS that is tuned for GPUs: large f32 products whose matrices lie as BLAS wants
 * them. */
#include <stdio.h>
#include <string.h>

#include "opencl/gemm.h"
#include "opencl/ops/product.h"

/* Below this a call costs more than a kernel of ours: CLBlast launches up to four. */
enum { LEAST_ROWS = 16, LEAST_COLUMNS = 16, LEAST_DEPTH = 16 };

/* A matrix with one axis dense, seen as rows of `across` elements or, `turned`, as columns. */
static bool lies_well(int64_t row, int64_t column, int64_t rows, int64_t columns, bool *turned, int64_t *lead) {
  *turned = column != 1;
  *lead = *turned ? column : row;
  return (*turned ? row == 1 : true) && *lead >= (*turned ? rows : columns);
}

/* False, with the reason, where BLAS has no such product. */
static bool describe(const cl_product *p, cl_gemm *out, char reason[192]) {
  bool y_turned;
  *out = (cl_gemm){.rows = (size_t)p->rows,
                   .columns = (size_t)p->columns,
                   .depth = (size_t)p->depth,
                   .batches = (size_t)cl_axes_count(&p->batch),
                   .alpha = p->scale};
  int64_t a_lead, b_lead, y_lead;
  if (!lies_well(p->a_row, p->a_depth, p->rows, p->depth, &out->a_turned, &a_lead) ||
      !lies_well(p->b_column, p->b_depth, p->columns, p->depth, &out->b_turned, &b_lead) ||
      !lies_well(p->y_row, p->y_column, p->rows, p->columns, &y_turned, &y_lead) || y_turned) {
    snprintf(reason, 192, "needs matrices that are dense along one axis, and results that are along their rows");
    return false;
  }
  if (p->batch.rank > 1) {
    snprintf(reason, 192, "needs a batch whose matrices lie at equal distances");
    return false;
  }
  /* BLAS multiplies by [depth, columns]; ours is kept as [columns, depth]. */
  out->b_turned = !out->b_turned;
  out->a_lead = (size_t)a_lead;
  out->b_lead = (size_t)b_lead;
  out->y_lead = (size_t)y_lead;
  out->a_step = (size_t)p->batch.strides[0][0];
  out->b_step = (size_t)p->batch.strides[1][0];
  out->y_step = out->batches > 1 ? (size_t)p->batch.strides[2][0] : out->rows * out->y_lead; /* 0 is refused */
  return true;
}

bool cl_clblast_can_run(const cl_limits *limits, const ph_graph *graph, const ph_node *node, char reason[192]) {
  (void)limits;
  if (strcmp(node->op, "weighted_sum") == 0) {
    snprintf(reason, 192, "BLAS would multiply with a weight of 0 instead of leaving its value out");
    return false;
  }
  if (!cl_gemm_available(reason)) return false;
  const ph_tensor_desc *tensors[] = {ph_node_input(graph, node, 0), ph_node_input(graph, node, 1),
                                     ph_node_output(graph, node, 0)};
  for (int i = 0; i < 3; i++)
    if (tensors[i]->dtype != PH_F32) { /* its half precision sums in half precision */
      snprintf(reason, 192, "needs f32 throughout");
      return false;
    }
  cl_product p = cl_product_of(graph, node);
  cl_gemm gemm;
  cl_axes_fold(&p.batch);
  if (p.rows < LEAST_ROWS || p.columns < LEAST_COLUMNS || p.depth < LEAST_DEPTH) {
    snprintf(reason, 192, "needs at least %d rows, %d columns and sums of %d", LEAST_ROWS, LEAST_COLUMNS, LEAST_DEPTH);
    return false;
  }
  return describe(&p, &gemm, reason);
}

void cl_clblast_options(const ph_graph *graph, const ph_node *node, ph_text *out) {
  cl_product_options(graph, node, out);
  ph_text_add(out, " -DEPILOGUE");
}

/* What is done to a sum: bias, activation, residual. */
static bool has_epilogue(const ph_node *node) {
  return strcmp(node->op, "fused_linear") == 0 || (node->input_count > 2 && node->inputs[2] != PH_NONE);
}

ph_status cl_clblast_plan(cl_plan_node *plan, const ph_graph *graph, const ph_node *node, ph_error *error) {
  cl_product p = cl_product_of(graph, node);
  cl_gemm gemm;
  char reason[192];
  cl_axes_fold(&p.batch);
  if (!describe(&p, &gemm, reason)) return ph_fail(error, PH_INTERNAL, "%s", reason);
  cl_launch *call = cl_plan_call(plan, &cl_gemm_call, &gemm, sizeof(gemm));
  cl_arg_input(call, node, 0);
  cl_arg_input(call, node, 1);
  cl_arg_output(call, node, 0);
  if (has_epilogue(node)) {
    cl_launch *launch = cl_launch_items(plan, "epilogue", p.columns, p.rows, cl_axes_count(&p.batch));
    p.scale = 1.0f; /* the sums are scaled */
    cl_arg_product(launch, plan, node, &p);
  }
  return cl_plan_done(plan, error);
}
