/* The table of ops. */
#include "op.h"

/* The stages are those of docs/numerics.md: relu and add round once and have none; linear is a sum of products, and the
 * least precise type that the sum is held in is f32.  Declare what you do: by a better type than yours you fail, and
 * one that is too poor for the op is not accepted. */
static const struct op ops[] = {
    {.name = "add", .version = 1, .takes_strides = true, .run = run_add},
    {.name = "relu", .version = 1, .run = run_relu},
    {.name = "linear",
     .version = 1,
     .stages = {[PH_STAGE_ACCUM] = PH_F32},
     .read = read_linear,
     .pack = pack_linear,
     .run = run_linear},
};

const struct op *find_op(const char *name) {
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
    if (strcmp(ops[i].name, name) == 0) return &ops[i];
  return NULL;
}
