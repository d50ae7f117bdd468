/* Prints what the library has to choose from: a line "OP VARIANT" for each variant of each op that has several. */
#include <stdio.h>

#include "opencl/op.h"

int main(void) {
  for (uint32_t i = 0; i < cl_op_count; i++)
    for (uint32_t k = 0; cl_ops[i]->variant_count > 1 && k < cl_ops[i]->variant_count; k++)
      printf("%s %s\n", cl_ops[i]->name, cl_ops[i]->variants[k].name);
  return 0;
}
