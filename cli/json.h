/* JSON documents.  A part that could not be made is NULL and makes what it is put into NULL, so that one check at the
 * root is enough. */
#ifndef POLYHEAD_CLI_JSON_H
#define POLYHEAD_CLI_JSON_H

#include <jansson.h>
#include <polyhead/polyhead.h>

/* A string, null for NULL.  Bytes that are no UTF-8 (a file's name may hold any) become "?". */
json_t *cli_json_text(const char *text);
/* A number; JSON has none for them, so "nan", "inf" and "-inf" are texts. */
json_t *cli_json_real(double value);
json_t *cli_json_list(uint32_t count, const int64_t *items);
json_t *cli_json_texts(const char *const *texts); /* NULL-terminated; null for NULL */
json_t *cli_json_peak(ph_peak peak);              /* null where nothing was measured */
json_t *cli_json_device(const ph_device_entry *device);
json_t *cli_json_values(const ph_tensor *tensor); /* nested by axis */

/* Appends `value` (taken over) and returns the array; NULL, with both freed, where either is NULL or memory is short.
 */
json_t *cli_json_append(json_t *array, json_t *value);
/* Adds a member (taken over) to the document. */
PH_NODISCARD ph_status cli_json_set(json_t *document, const char *name, json_t *value, ph_error *error);

#endif
