/* Device specs: the text after -d (DESIGN 4). */
#ifndef POLYHEAD_RUNTIME_DEVICE_SPEC_H
#define POLYHEAD_RUNTIME_DEVICE_SPEC_H

#include "base/memory.h"
#include "base/text.h"
#include <polyhead/polyhead.h>

typedef enum ph_device_choice {
  PH_DEVICE_FIRST,       /* pocl */
  PH_DEVICE_BY_INDEX,    /* opencl:1 */
  PH_DEVICE_BY_PLATFORM, /* opencl:0:1 */
  PH_DEVICE_BY_NAME      /* opencl:llvmpipe */
} ph_device_choice;

typedef struct ph_device_spec {
  const char *text;    /* as given */
  const char *backend; /* in lower case; "auto" comes alone */
  ph_device_choice choice;
  uint64_t platform, index; /* UINT64_MAX stands for all larger ones */
  const char *part;         /* PH_DEVICE_BY_NAME: of a device's or platform's name */
  const ph_option *options; /* keys in lower case, each at most once */
  uint32_t option_count;
} ph_device_spec;

/* Texts of *out live in `arena`.  PH_INVALID for what does not follow the grammar. */
PH_NODISCARD ph_status ph_device_spec_parse(const char *text, ph_arena *arena, ph_device_spec *out, ph_error *error);

/* The one that is meant among the devices of the backend (at least one).  PH_UNAVAILABLE, with those there are, where
 * none is; PH_INVALID, with those that fit, where a name fits several. */
PH_NODISCARD ph_status ph_device_spec_pick(const ph_device_spec *spec, const ph_device_entry *devices, uint32_t count,
                                           const ph_device_entry **out, ph_error *error);

/* Adds "opencl:0 (name), opencl:1 (name)". */
void ph_device_list_text(ph_text *text, const ph_device_entry *devices, uint32_t count);

#endif
