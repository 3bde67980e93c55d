/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the libraries that go into the target loadable on glibc 2.28: included first in each of their files.
 *
 * Since 2.34 libdl and libpthread are part of libc and their functions carry a new version that older systems lack;
 * here they are bound to the old version. On older systems they come from libdl and libpthread, which must not be
 * loaded into every process just because the agent is preloaded: the references are weak, and a process without these
 * libraries has no driver in it anyway and is left alone (see ms_agent_init).
 *
 * One pragma per name: a macro cannot produce them together with the assembler directive. */
#ifndef MS_AGENT_GLIBC_FLOOR_H
#define MS_AGENT_GLIBC_FLOOR_H

#pragma weak dlsym
#pragma weak dlopen
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
#pragma weak pthread_create
#pragma weak pthread_detach

#ifdef MS_GLIBC_FLOOR
#if defined(__x86_64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5\n"
        ".symver dlopen, dlopen@GLIBC_2.2.5\n"
        ".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5\n"
        ".symver pthread_key_delete, pthread_key_delete@GLIBC_2.2.5\n"
        ".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5\n"
        ".symver pthread_create, pthread_create@GLIBC_2.2.5\n"
        ".symver pthread_detach, pthread_detach@GLIBC_2.2.5\n");
#elif defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17\n"
        ".symver dlopen, dlopen@GLIBC_2.17\n"
        ".symver pthread_key_create, pthread_key_create@GLIBC_2.17\n"
        ".symver pthread_key_delete, pthread_key_delete@GLIBC_2.17\n"
        ".symver pthread_setspecific, pthread_setspecific@GLIBC_2.17\n"
        ".symver pthread_create, pthread_create@GLIBC_2.17\n"
        ".symver pthread_detach, pthread_detach@GLIBC_2.17\n");
#endif
#endif

#endif
