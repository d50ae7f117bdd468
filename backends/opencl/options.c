/* Reading a device's options. */
#include "opencl/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/op.h"

static const struct {
  const char *name;
  unsigned profile;
} profiles[] = {{"baseline", CL_PROFILE_BASELINE}, {"cpu", CL_PROFILE_CPU}, {"gpu", CL_PROFILE_GPU}};

static ph_status read_profile(const char *value, cl_options *out, ph_error *error) {
  for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
    if (strcmp(value, profiles[i].name) == 0) {
      out->profile = profiles[i].profile;
      return PH_OK;
    }
  return ph_fail(error, PH_INVALID, "profile=%s: the profiles are baseline, cpu, gpu", value);
}

/* The names of all variants, each once. */
static void list_variants(ph_text *names) {
  for (uint32_t i = 0; i < cl_op_count; i++)
    for (uint32_t j = 0; j < cl_ops[i]->variant_count; j++) {
      const char *name = cl_ops[i]->variants[j].name;
      bool listed = false;
      for (uint32_t k = 0; k <= i && !listed; k++)
        for (uint32_t l = 0; l < (k < i ? cl_ops[k]->variant_count : j) && !listed; l++)
          listed = strcmp(cl_ops[k]->variants[l].name, name) == 0;
      if (!listed) ph_text_add(names, "%s%s", names->length > 0 ? ", " : "", name);
    }
}

static ph_status read_variant(const char *value, cl_options *out, ph_error *error) {
  for (uint32_t i = 0; i < cl_op_count; i++)
    for (uint32_t j = 0; j < cl_ops[i]->variant_count; j++)
      if (strcmp(cl_ops[i]->variants[j].name, value) == 0) {
        out->variant = cl_ops[i]->variants[j].name;
        return PH_OK;
      }
  ph_text names = {0};
  list_variants(&names);
  ph_status status = names.failed ? ph_fail_memory(error)
                                  : ph_fail(error, PH_INVALID, "variant=%s: no op has such a variant; there are %s",
                                            value, names.data != NULL ? names.data : "none");
  ph_text_free(&names);
  return status;
}

static ph_status read_number(const char *key, const char *value, uint64_t *out, ph_error *error) {
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10);
  if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || number == 0)
    return ph_fail(error, PH_INVALID, "%s=%s: a whole number of at least 1 is needed", key, value);
  *out = number;
  return PH_OK;
}

ph_status cl_options_read(const ph_option *options, uint32_t count, cl_options *out, ph_error *error) {
  *out = (cl_options){0};
  for (uint32_t i = 0; i < count; i++) {
    const char *key = options[i].key, *value = options[i].value;
    if (strcmp(key, "profile") == 0)
      PH_TRY(read_profile(value, out, error));
    else if (strcmp(key, "variant") == 0)
      PH_TRY(read_variant(value, out, error));
    else if (strcmp(key, "tune") == 0)
      out->tuning = strcmp(value, "none") != 0 ? value : NULL;
    else if (strcmp(key, "max_wg") == 0)
      PH_TRY(read_number(key, value, &out->max_wg, error));
    else if (strcmp(key, "local_mem") == 0)
      PH_TRY(read_number(key, value, &out->local_mem, error));
    else if (strcmp(key, "max_alloc") == 0)
      PH_TRY(read_number(key, value, &out->max_alloc, error));
    else if (strcmp(key, "align_bits") == 0)
      PH_TRY(read_number(key, value, &out->align_bits, error));
    else if (strcmp(key, "vector_width") == 0)
      PH_TRY(read_number(key, value, &out->vector_width, error));
    else
      return ph_fail(error, PH_INVALID,
                     "unknown option '%s'; known are profile, variant, tune, max_wg, local_mem, align_bits, max_alloc, "
                     "vector_width",
                     key);
  }
  if (out->align_bits > 0 &&
      (out->align_bits < 8 || out->align_bits > 1u << 24 || (out->align_bits & (out->align_bits - 1)) != 0))
    return ph_fail(error, PH_INVALID, "align_bits=%llu: a power of two from 8 to 16777216 is needed",
                   (unsigned long long)out->align_bits);
  if (out->vector_width != 0 && out->vector_width != 4 && out->vector_width != 8 && out->vector_width != 16)
    return ph_fail(error, PH_INVALID, "vector_width=%llu: 4, 8 or 16 is needed", (unsigned long long)out->vector_width);
  return PH_OK;
}
