/* What every operator header needs. */
#ifndef ACLNN_ACLNN_BASE_H
#define ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"
#include "acl/acl_rt.h"

#endif
