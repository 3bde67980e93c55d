/* SPDX-License-Identifier: Apache-2.0 */
/* See dwarf_lines.h. The chain of inlined calls is the nesting of DIEs around the innermost one that contains the
 * address; each gives its call location, which is the line of the enclosing one. */
#include "memscope/symbols/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Appends the components of a path; "." and "x/.." are resolved textually. */
static size_t append_path(char *out, size_t used, const char *path, bool absolute)
{
    while (*path != '\0') {
        size_t part_b = strcspn(path, "/");
        bool up = part_b == 2 && path[0] == '.' && path[1] == '.', stay = part_b == 1 && path[0] == '.';
        bool at_up = used >= 2 && memcmp(out + used - 2, "..", 2) == 0 && (used == 2 || out[used - 3] == '/');
        if (up && used > 0 && !at_up) {
            while (used > 0 && out[used - 1] != '/') {
                used--;
            }
            used -= used > 0;
        } else if (part_b > 0 && !stay && used + part_b + 2 < MS_FILE_MAX_B) {
            if (used > 0 || absolute) {
                out[used++] = '/';
            }
            memcpy(out + used, path, part_b);
            used += part_b;
        }
        path += part_b;
        path += *path == '/';
    }
    return used;
}

static void set_file(struct ms_dwarf_frame *source, const char *dir, const char *file)
{
    size_t used = 0;
    if (file == NULL) {
        return;
    }
    dir = file[0] == '/' || dir == NULL ? "" : dir;
    bool absolute = file[0] == '/' || dir[0] == '/';
    used = append_path(source->file, used, dir, absolute);
    used = append_path(source->file, used, file, absolute);
    source->file[used] = '\0';
    for (size_t i = 0; i < used; i++) {
        source->file[i] = (unsigned char)source->file[i] < ' ' ? '?' : source->file[i];
    }
}

/* Namespaces and classes around the declaration of a function with internal linkage. */
static void set_scope(struct ms_dwarf_frame *source, Dwarf_Die *die)
{
    static const unsigned declared_by[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Die at = *die, *scopes = NULL;
    Dwarf_Attribute attribute;
    for (unsigned i = 0; i < 2; i++) {
        Dwarf_Die declaration;
        if (dwarf_formref_die(dwarf_attr(&at, declared_by[i], &attribute), &declaration) != NULL) {
            at = declaration;
        }
    }
    int count = dwarf_getscopes_die(&at, &scopes);
    for (int i = 1, n = 0; i < count && n < MS_SCOPES_MAX; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type) {
            const char *name = dwarf_diename(&scopes[i]);
            source->scope[n++] = name != NULL ? name : "(anonymous namespace)";
        }
    }
    free(scopes);
}

static void set_name(struct ms_dwarf_frame *source, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    source->name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (source->name == NULL) {
        source->name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    }
    if (source->name == NULL) {
        source->name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
        set_scope(source, die);
    }
}

static uint64_t entry_of(Dwarf_Die *die)
{
    Dwarf_Addr entry;
    return dwarf_entrypc(die, &entry) == 0 || dwarf_lowpc(die, &entry) == 0 ? entry : 0;
}

static const char *comp_dir(Dwarf_Die *cu)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attribute));
}

/* Where an inlined call was made. */
static void set_call(struct ms_dwarf_frame *caller, Dwarf_Die *inlined, Dwarf_Die *cu)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0 && line < INT32_MAX) {
        caller->line = (int)line;
    }
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
        dwarf_getsrcfiles(cu, &files, &count) == 0 && file < count) {
        set_file(caller, comp_dir(cu), dwarf_filesrc(files, file, NULL, NULL));
    }
}

/* Functions around the innermost DIE. out[0] already has its line. */
static unsigned expand(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Addr bias, struct ms_dwarf_frame out[MS_INLINED_MAX])
{
    Dwarf_Die *scopes = NULL, *nested = NULL;
    unsigned n = 0;
    int count = dwarf_getscopes(cu, address - bias, &scopes);
    count = count > 0 ? dwarf_getscopes_die(&scopes[0], &nested) : 0;
    for (int i = 0; i < count && n < MS_INLINED_MAX; i++) {
        int tag = dwarf_tag(&nested[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
            continue;
        }
        set_name(&out[n], &nested[i]);
        out[n].entry = entry_of(&nested[i]);
        out[n].entry += out[n].entry != 0 ? bias : 0;
        n++;
        if (tag == DW_TAG_subprogram) {
            break;
        }
        if (n < MS_INLINED_MAX) {
            out[n] = (struct ms_dwarf_frame){0};
            set_call(&out[n], &nested[i], cu);
        }
    }
    free(nested);
    free(scopes);
    return n;
}

unsigned ms_dwarf_frames(Dwfl_Module *module, uint64_t address, struct ms_dwarf_frame out[MS_INLINED_MAX])
{
    out[0] = (struct ms_dwarf_frame){0};
    Dwfl_Line *line = dwfl_module_getsrc(module, address);
    if (line != NULL) {
        const char *file = dwfl_lineinfo(line, NULL, &out[0].line, NULL, NULL, NULL);
        set_file(&out[0], dwfl_line_comp_dir(line), file);
    }
    Dwarf_Addr bias;
    Dwarf_Die *cu = dwfl_module_addrdie(module, address, &bias);
    unsigned n = cu != NULL ? expand(cu, address, bias, out) : 0;
    return n > 0 ? n : out[0].file[0] != '\0';
}
