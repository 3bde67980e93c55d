/* Newer releases split the runtime header; the functions are the same. */
#ifndef ACL_ACL_RT_API_H
#define ACL_ACL_RT_API_H

#include "acl/acl_rt.h"

#endif
