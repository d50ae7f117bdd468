/* polyhead plugins: which backends were loaded, from where, and why others were not; checking one. */
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "plugins_check.h"
#include "setup.h"

static cli_text abi_text(const ph_plugin_info *plugin) {
  cli_text out = {""};
  if (plugin->abi_version != 0)
    snprintf(out.text, sizeof(out.text), "%u.%u", plugin->abi_version >> 16, plugin->abi_version & 0xffff);
  return out;
}

static ph_status print_loaded(const ph_context *context, ph_error *error) {
  cli_table table = {.columns = "lllll"};
  uint32_t rejected = 0;
  cli_table_add(&table, (const char *const[]){"backend", "version", "vendor", "file", "what it is"});
  for (uint32_t i = 0; i < ph_context_plugin_count(context); i++) {
    const ph_plugin_info *plugin = ph_context_plugin(context, i);
    if (plugin->status != PH_OK)
      rejected++;
    else
      cli_table_add(
          &table, (const char *const[]){plugin->name, plugin->version, plugin->vendor, plugin->path, plugin->summary});
  }
  PH_TRY(cli_table_print(&table, stdout, error));
  if (rejected > 0) printf("%u more %s not loaded; -v says why\n", rejected, rejected == 1 ? "was" : "were");
  return PH_OK;
}

static void print_everything(const ph_context *context) {
  for (uint32_t i = 0; i < ph_context_folder_count(context); i++) {
    const char *note = NULL, *folder = ph_context_folder(context, i, &note);
    printf("folder %s: %s\n", folder, note);
  }
  for (uint32_t i = 0; i < ph_context_plugin_count(context); i++) {
    const ph_plugin_info *plugin = ph_context_plugin(context, i);
    if (plugin->status == PH_OK)
      printf("loaded %s: %s %s, ABI %s, %s: %s\n", plugin->path, plugin->name, plugin->version, abi_text(plugin).text,
             plugin->vendor, plugin->summary);
    else
      printf("not loaded %s: %s (%s)\n", plugin->path, plugin->reason, ph_status_name(plugin->status));
  }
}

static ph_status fill_document(const ph_context *context, json_t *json, ph_error *error) {
  json_t *folders = json_array(), *plugins = json_array();
  for (uint32_t i = 0; i < ph_context_folder_count(context); i++) {
    const char *note = NULL, *folder = ph_context_folder(context, i, &note);
    folders =
        cli_json_append(folders, json_pack("{so so}", "path", cli_json_text(folder), "note", cli_json_text(note)));
  }
  for (uint32_t i = 0; i < ph_context_plugin_count(context); i++) {
    const ph_plugin_info *plugin = ph_context_plugin(context, i);
    plugins = cli_json_append(
        plugins, json_pack("{so sb so so so so so ss so}", "path", cli_json_text(plugin->path), "loaded",
                           (int)(plugin->status == PH_OK), "name", cli_json_text(plugin->name), "version",
                           cli_json_text(plugin->version), "vendor", cli_json_text(plugin->vendor), "summary",
                           cli_json_text(plugin->summary), "abi",
                           cli_json_text(plugin->abi_version != 0 ? abi_text(plugin).text : NULL), "status",
                           ph_status_name(plugin->status), "reason", cli_json_text(plugin->reason)));
  }
  PH_TRY(cli_json_set(json, "folders", folders, error));
  return cli_json_set(json, "plugins", plugins, error);
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  const cli_list *words = &options->arguments;
  if (words->count == 2 && strcmp(words->items[0], "check") == 0)
    return cli_plugins_check(words->items[1], result, error);
  if (words->count > 0)
    return ph_fail(error, PH_INVALID, "'polyhead plugins' lists the plugins; 'polyhead plugins check FILE' tries one");
  ph_context *context = NULL;
  ph_status status = PH_OK;
  PH_TRY(cli_context_open(options, &context, error));
  if (result->json != NULL)
    status = fill_document(context, result->json, error);
  else if (options->verbose > 0)
    print_everything(context);
  else
    status = print_loaded(context, error);
  ph_context_destroy(context);
  return status;
}

const cli_command cli_plugins = {
    .name = "plugins",
    .arguments = "[check FILE]",
    .most = 2,
    .options = CLI_COMMON,
    .summary = "list the backends, and with -v every file looked at; check one",
    .text =
        "Lists the backends that were loaded.  With -v: the folders searched, every file looked at, and why each\n"
        "was not loaded.\n"
        "check FILE: tries a plugin in every way that a host uses one, a line for each check, with the cure where one\n"
        "fails.  Exits with 1 where a check fails, with 3 where the machine has no device of that kind.",
    .run = run,
};
