#include "runtime/device_file.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "runtime/registry.h"

/* The file begins with its whole key, so that no clash of hashes is taken for ours. */
static bool add_key(ph_text *key, const ph_device_entry *device, const char *kind) {
  const ph_device_info *info = &device->info;
  ph_text_add(key, "polyhead %s 1\nbackend %s\ndevice %s\nid %s\nplatform %s\ndriver %s\n", kind, device->backend,
              info->name, info->id, info->platform, info->driver);
  return !key->failed;
}

bool ph_device_file_path(ph_context *context, const ph_device_entry *device, const char *kind, ph_text *out) {
  const char *folder = ph_context_cache_folder(context);
  ph_text key = {0};
  bool known = folder != NULL && add_key(&key, device, kind);
  if (known) ph_text_add(out, "%s/%s-%016" PRIx64 ".txt", folder, kind, ph_random_key(0, key.data));
  ph_text_free(&key);
  return known && !out->failed;
}

bool ph_device_file_read(ph_context *context, const ph_device_entry *device, const char *kind, ph_text *out) {
  ph_text path = {0}, key = {0};
  ph_file_map map;
  bool ours = false;
  if (ph_device_file_path(context, device, kind, &path) && add_key(&key, device, kind) &&
      access(path.data, F_OK) == 0 && ph_file_map_open(path.data, &map, NULL) == PH_OK) {
    ours = map.size > key.length && memcmp(map.data, key.data, key.length) == 0;
    if (ours) ph_text_put(out, (const char *)map.data + key.length, map.size - key.length);
    ph_file_map_close(&map);
  }
  ph_text_free(&path);
  ph_text_free(&key);
  return ours && !out->failed;
}

bool ph_device_file_write(ph_context *context, const ph_device_entry *device, const char *kind, const char *content) {
  ph_text path = {0}, text = {0};
  ph_file_writer *writer;
  bool done = false;
  if (ph_device_file_path(context, device, kind, &path) && add_key(&text, device, kind)) {
    ph_text_put(&text, content, strlen(content));
    if (!text.failed && ph_file_writer_create(path.data, &writer, NULL) == PH_OK) {
      if (ph_file_writer_put(writer, text.data, text.length, NULL) == PH_OK)
        done = ph_file_writer_commit(writer, NULL) == PH_OK;
      else
        ph_file_writer_abandon(writer);
    }
  }
  ph_text_free(&path);
  ph_text_free(&text);
  return done;
}
