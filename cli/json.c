/* JSON documents. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "output.h"

json_t *cli_json_text(const char *text) {
  if (text == NULL) return json_null();
  json_t *string = json_string(text);
  if (string != NULL) return string;
  char *plain = strdup(text);
  if (plain == NULL) return NULL;
  for (char *c = plain; *c != '\0'; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  string = json_string(plain);
  free(plain);
  return string;
}

json_t *cli_json_real(double value) {
  if (isnan(value)) return json_string("nan");
  if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
  return json_real(value);
}

json_t *cli_json_append(json_t *array, json_t *value) {
  if (array == NULL) json_decref(value);
  if (array == NULL || json_array_append_new(array, value) == 0) return array;
  json_decref(array);
  return NULL;
}

ph_status cli_json_set(json_t *document, const char *name, json_t *value, ph_error *error) {
  return json_object_set_new(document, name, value) == 0 ? PH_OK : ph_fail_memory(error);
}

json_t *cli_json_list(uint32_t count, const int64_t *items) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < count; i++) array = cli_json_append(array, json_integer(items[i]));
  return array;
}

json_t *cli_json_texts(const char *const *texts) {
  if (texts == NULL) return json_null();
  json_t *array = json_array();
  for (; *texts != NULL; texts++) array = cli_json_append(array, cli_json_text(*texts));
  return array;
}

json_t *cli_json_peak(ph_peak peak) {
  if (peak.flops == 0) return json_null();
  return json_pack("{sf sf sf}", "flops", peak.flops, "read_bytes", peak.read_bytes, "triad_bytes", peak.triad_bytes);
}

static json_t *index_or_null(uint32_t index) {
  return index == PH_NONE ? json_null() : json_integer(index);
}

json_t *cli_json_device(const ph_device_entry *device) {
  const ph_device_info *info = &device->info;
  return json_pack("{so so si ss so so so so so so sI sI si sb sb}",                   //
                   "spec", cli_json_text(device->spec),                                //
                   "backend", cli_json_text(device->backend),                          //
                   "index", (int)device->index,                                        //
                   "kind", cli_device_kind_text(info->kind),                           //
                   "name", cli_json_text(info->name),                                  //
                   "platform", cli_json_text(info->platform),                          //
                   "driver", cli_json_text(info->driver),                              //
                   "id", cli_json_text(info->id),                                      //
                   "platform_index", index_or_null(info->platform_index),              //
                   "device_index", index_or_null(info->device_index),                  //
                   "memory_bytes", (json_int_t)info->memory_bytes,                     //
                   "max_buffer_bytes", (json_int_t)info->max_buffer_bytes,             //
                   "alignment", (int)info->alignment,                                  //
                   "unified_memory", (int)((info->caps & PH_CAP_UNIFIED_MEMORY) != 0), //
                   "node_times", (int)((info->caps & PH_CAP_NODE_TIMES) != 0));
}

static json_t *element(const ph_tensor *tensor, size_t index) {
  if (tensor->dtype == PH_BOOL) return json_boolean(ph_read_integer(PH_BOOL, tensor->data, index) != 0);
  if (ph_dtype_is_real(tensor->dtype)) return cli_json_real(ph_read_real(tensor->dtype, tensor->data, index));
  return json_integer(ph_read_integer(tensor->dtype, tensor->data, index));
}

static json_t *values_from(const ph_tensor *tensor, uint32_t axis, size_t *next) {
  if (axis == tensor->rank) return element(tensor, (*next)++);
  json_t *array = json_array();
  for (int64_t i = 0; i < tensor->dims[axis] && array != NULL; i++)
    array = cli_json_append(array, values_from(tensor, axis + 1, next));
  return array;
}

json_t *cli_json_values(const ph_tensor *tensor) {
  size_t next = 0;
  return values_from(tensor, 0, &next);
}
