/* What a plugin exports.  Read from the file: the dynamic loader tells whether a name is there, but not which are. */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "conform/plugin_trial.h"

/* True where `count` items of `size` bytes at `offset` lie inside the file. */
static bool lies_inside(const ph_file_map *map, uint64_t offset, uint64_t count, uint64_t size) {
  uint64_t bytes;
  return !__builtin_mul_overflow(count, size, &bytes) && offset <= map->size && bytes <= map->size - offset;
}

/* The section `index`; false where the file does not have it. */
static bool section_of(const ph_file_map *map, const ElfW(Ehdr) * header, uint32_t index, ElfW(Shdr) * out) {
  if (index >= header->e_shnum || header->e_shentsize != sizeof(*out) ||
      !lies_inside(map, header->e_shoff, header->e_shnum, sizeof(*out)))
    return false;
  memcpy(out, map->data + header->e_shoff + index * sizeof(*out), sizeof(*out));
  return out->sh_type == SHT_NOBITS || lies_inside(map, out->sh_offset, 1, out->sh_size);
}

static bool is_exported(const ElfW(Sym) * symbol) {
  unsigned char binding = symbol->st_info >> 4; /* of both classes */
  return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && (binding == STB_GLOBAL || binding == STB_WEAK);
}

/* Adds each name but the one that must be there. */
static void add_symbols(const ph_file_map *map, const ElfW(Shdr) * symbols, const ElfW(Shdr) * names, ph_text *out,
                        uint32_t *out_count) {
  for (uint64_t at = 0; at + sizeof(ElfW(Sym)) <= symbols->sh_size; at += sizeof(ElfW(Sym))) {
    ElfW(Sym) symbol;
    memcpy(&symbol, map->data + symbols->sh_offset + at, sizeof(symbol));
    if (!is_exported(&symbol) || symbol.st_name >= names->sh_size) continue;
    const char *name = (const char *)map->data + names->sh_offset + symbol.st_name;
    size_t room = names->sh_size - symbol.st_name, length = strnlen(name, room);
    if (length == strlen(PH_BACKEND_SYMBOL) && memcmp(name, PH_BACKEND_SYMBOL, length) == 0) continue;
    if (*out_count < 3) ph_text_add(out, "%s%.*s", *out_count > 0 ? ", " : "", (int)length, name);
    ++*out_count;
  }
}

/* False where the file has no table of symbols that this can read. */
static bool list_others(const ph_file_map *map, ph_text *out, uint32_t *out_count) {
  ElfW(Ehdr) header;
  if (map->size < sizeof(header)) return false;
  memcpy(&header, map->data, sizeof(header));
  ElfW(Shdr) symbols, names;
  for (uint32_t i = 0; section_of(map, &header, i, &symbols); i++)
    if (symbols.sh_type == SHT_DYNSYM && section_of(map, &header, symbols.sh_link, &names)) {
      add_symbols(map, &symbols, &names, out, out_count);
      return true;
    }
  return false;
}

ph_check_state ph_trial_exports(ph_plugin_trial *trial) {
  ph_error error = PH_ERROR_INIT;
  ph_file_map map;
  ph_text others = {0};
  uint32_t count = 0;
  if (ph_file_map_open(trial->real, &map, &error) != PH_OK) return ph_trial_skip(trial, "%s", error.message);
  bool read = list_others(&map, &others, &count);
  ph_file_map_close(&map);
  ph_check_state state;
  if (!read)
    state = ph_trial_skip(trial, "the file has no list of its symbols");
  else if (count == 0)
    state = ph_trial_pass(trial, "%s() and nothing else", PH_BACKEND_SYMBOL);
  else
    state = ph_trial_fail(trial,
                          "hide them, or they may meet another library's: build with polyhead_plugin(), or with "
                          "-fvisibility=hidden and the export map plugin.map that comes with it",
                          "%u more %s: %s%s", count, count == 1 ? "symbol" : "symbols",
                          others.data != NULL ? others.data : "", count > 3 ? ", ..." : "");
  ph_text_free(&others);
  return state;
}
