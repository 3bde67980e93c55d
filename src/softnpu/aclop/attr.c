/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of single operators: named values, copied from the caller.
 *
 * Threads: a set belongs to its caller; creating and destroying are safe from any thread.
 * Failure: 100000 and a message; a set keeps its old value when a new one is refused. */
#include "softnpu/aclop/aclop.h"

#include "abi/aclop_impl.h"
#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>
#include <string.h>

struct aclopAttr {
    struct snpu_attr *first;
};

static struct ms_slab sets = MS_SLAB_INIT(struct aclopAttr, 1 << 16);

static const size_t value_b[] = {
    [SNPU_ATTR_BOOL] = sizeof(uint8_t),  [SNPU_ATTR_INT] = sizeof(int64_t),      [SNPU_ATTR_FLOAT] = sizeof(float),
    [SNPU_ATTR_STRING] = sizeof(char *), [SNPU_ATTR_TYPE] = sizeof(aclDataType),
};

bool snpu_attrs_alive(const aclopAttr *attr)
{
    return ms_slab_check(&sets, attr);
}

const struct snpu_attr *snpu_attr_find(const aclopAttr *attr, const char *name)
{
    const struct snpu_attr *a = attr != NULL ? attr->first : NULL;
    while (a != NULL && strcmp(a->name, name) != 0) {
        a = a->next;
    }
    return a;
}

static void free_attr(struct snpu_attr *a)
{
    if (a == NULL) {
        return;
    }
    if (a->kind == SNPU_ATTR_STRING && a->values != NULL) {
        for (size_t i = 0; i < a->count; i++) {
            free(((char **)a->values)[i]);
        }
    }
    free(a->values);
    free(a->list_counts);
    free(a->name);
    free(a);
}

aclopAttr *aclopCreateAttrImpl(void)
{
    aclopAttr *attr = ms_slab_alloc(&sets);
    if (attr == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclopCreateAttr: too many attribute sets");
    }
    return attr;
}

void aclopDestroyAttrImpl(const aclopAttr *attr)
{
    if (attr == NULL) {
        return;
    }
    if (!snpu_attrs_alive(attr)) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopDestroyAttr: %p is not an attribute set", (const void *)attr);
        return;
    }
    for (struct snpu_attr *a = attr->first, *next; a != NULL; a = next) {
        next = a->next;
        free_attr(a);
    }
    ms_slab_free(&sets, (void *)(uintptr_t)attr);
}

/* Puts the new attribute into the set, in place of an older one of the same name. */
static void put(aclopAttr *attr, struct snpu_attr *a)
{
    struct snpu_attr **at = &attr->first;
    while (*at != NULL && strcmp((*at)->name, a->name) != 0) {
        at = &(*at)->next;
    }
    struct snpu_attr *old = *at;
    a->next = old != NULL ? old->next : NULL;
    *at = a;
    free_attr(old);
}

static aclError check(const char *function, const aclopAttr *attr, const char *name, int count, const void *values)
{
    if (!snpu_attrs_alive(attr)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not an attribute set", function, (const void *)attr);
    }
    if (name == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: attrName is NULL", function);
    }
    if (count < 0 || (count > 0 && values == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: attribute '%s': %s (%d values)", function, name,
                         count < 0 ? "negative number of values" : "values is NULL", count);
    }
    return ACL_SUCCESS;
}

static struct snpu_attr *new_attr(const char *name, enum snpu_attr_kind kind, bool list, size_t count, size_t bytes)
{
    struct snpu_attr *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->kind = kind;
    a->list = list;
    a->count = count;
    a->name = strdup(name);
    a->values = calloc(1, bytes > 0 ? bytes : 1);
    if (a->name == NULL || a->values == NULL) {
        a->count = 0;
        free_attr(a);
        return NULL;
    }
    return a;
}

static aclError set(const char *function, aclopAttr *attr, const char *name, enum snpu_attr_kind kind, bool list,
                    int count, const void *values)
{
    aclError rc = check(function, attr, name, count, values);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    size_t n = (size_t)count;
    struct snpu_attr *a = new_attr(name, kind, list, n, n * value_b[kind]);
    for (size_t i = 0; a != NULL && i < n && kind == SNPU_ATTR_STRING; i++) {
        const char *text = ((const char *const *)values)[i];
        char *copy = text != NULL ? strdup(text) : NULL;
        if (copy == NULL) {
            free_attr(a);
            return text == NULL
                       ? snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: attribute '%s': value %zu is NULL", function, name, i)
                       : snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
        }
        ((char **)a->values)[i] = copy;
    }
    if (a == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
    }
    if (kind != SNPU_ATTR_STRING && n > 0) {
        memcpy(a->values, values, n * value_b[kind]);
    }
    put(attr, a);
    return ACL_SUCCESS;
}

aclopAttr *snpu_attrs_copy(const aclopAttr *attr)
{
    aclopAttr *copy = aclopCreateAttrImpl();
    for (const struct snpu_attr *a = attr->first; copy != NULL && a != NULL; a = a->next) {
        bool lists = a->kind == SNPU_ATTR_LIST_LIST_INT; /* no operator of the table has such an attribute */
        if (!lists && set("aclopCreateHandle", copy, a->name, a->kind, a->list, (int)a->count, a->values) != 0) {
            aclopDestroyAttrImpl(copy);
            return NULL;
        }
    }
    return copy;
}

aclError aclopSetAttrBoolImpl(aclopAttr *attr, const char *attrName, uint8_t attrValue)
{
    return set("aclopSetAttrBool", attr, attrName, SNPU_ATTR_BOOL, false, 1, &attrValue);
}

aclError aclopSetAttrIntImpl(aclopAttr *attr, const char *attrName, int64_t attrValue)
{
    return set("aclopSetAttrInt", attr, attrName, SNPU_ATTR_INT, false, 1, &attrValue);
}

aclError aclopSetAttrFloatImpl(aclopAttr *attr, const char *attrName, float attrValue)
{
    return set("aclopSetAttrFloat", attr, attrName, SNPU_ATTR_FLOAT, false, 1, &attrValue);
}

aclError aclopSetAttrStringImpl(aclopAttr *attr, const char *attrName, const char *attrValue)
{
    return set("aclopSetAttrString", attr, attrName, SNPU_ATTR_STRING, false, 1, &attrValue);
}

aclError aclopSetAttrDataTypeImpl(aclopAttr *attr, const char *attrName, aclDataType attrValue)
{
    return set("aclopSetAttrDataType", attr, attrName, SNPU_ATTR_TYPE, false, 1, &attrValue);
}

aclError aclopSetAttrListDataTypeImpl(aclopAttr *attr, const char *attrName, int numValues, const aclDataType values[])
{
    return set("aclopSetAttrListDataType", attr, attrName, SNPU_ATTR_TYPE, true, numValues, values);
}

aclError aclopSetAttrListBoolImpl(aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values)
{
    return set("aclopSetAttrListBool", attr, attrName, SNPU_ATTR_BOOL, true, numValues, values);
}

aclError aclopSetAttrListIntImpl(aclopAttr *attr, const char *attrName, int numValues, const int64_t *values)
{
    return set("aclopSetAttrListInt", attr, attrName, SNPU_ATTR_INT, true, numValues, values);
}

aclError aclopSetAttrListFloatImpl(aclopAttr *attr, const char *attrName, int numValues, const float *values)
{
    return set("aclopSetAttrListFloat", attr, attrName, SNPU_ATTR_FLOAT, true, numValues, values);
}

aclError aclopSetAttrListStringImpl(aclopAttr *attr, const char *attrName, int numValues, const char **values)
{
    return set("aclopSetAttrListString", attr, attrName, SNPU_ATTR_STRING, true, numValues, values);
}

aclError aclopSetAttrListListIntImpl(aclopAttr *attr, const char *attrName, int numLists, const int *numValues,
                                     const int64_t *const values[])
{
    static const char function[] = "aclopSetAttrListListInt";
    aclError rc = check(function, attr, attrName, numLists, values);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    size_t total = 0;
    for (int i = 0; i < numLists; i++) {
        if (numValues == NULL || numValues[i] < 0 || (numValues[i] > 0 && values[i] == NULL)) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: attribute '%s': list %d has no values", function, attrName,
                             i);
        }
        total += (size_t)numValues[i];
    }
    struct snpu_attr *a = new_attr(attrName, SNPU_ATTR_LIST_LIST_INT, true, (size_t)numLists, total * sizeof(int64_t));
    size_t *counts = calloc((size_t)numLists + 1, sizeof(*counts));
    if (a == NULL || counts == NULL) {
        free_attr(a);
        free(counts);
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
    }
    int64_t *to = a->values;
    for (int i = 0; i < numLists; i++) {
        counts[i] = (size_t)numValues[i];
        if (counts[i] > 0) {
            memcpy(to, values[i], counts[i] * sizeof(*to));
        }
        to += counts[i];
    }
    a->list_counts = counts;
    put(attr, a);
    return ACL_SUCCESS;
}
