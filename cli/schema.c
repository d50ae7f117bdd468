/* polyhead schema: the JSON Schema of the config language. */
#include <stdlib.h>

#include "base/error.h"
#include "command.h"

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  (void)options;
  char *text = ph_schema_json();
  if (text == NULL) return ph_fail_memory(error);
  ph_status status = PH_OK;
  if (result->json == NULL) {
    printf("%s\n", text);
  } else {
    json_t *schema = json_loads(text, 0, NULL);
    if (schema == NULL || json_object_update(result->json, schema) != 0) status = ph_fail_memory(error);
    json_decref(schema);
  }
  free(text);
  return status;
}

const cli_command cli_schema = {
    .name = "schema",
    .arguments = "",
    .options = CLI_COMMON,
    .summary = "print the JSON Schema of the config language",
    .text = "Prints the JSON Schema of the config language, for completion and checks in editors.",
    .run = run,
};
