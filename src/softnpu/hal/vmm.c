#include "softnpu/hal/process.h"
void snpu__vmm_forget(void)
{
}
void snpu__ipc_forget(void)
{
}
void snpu__prof_forget(void)
{
}
void snpu__vmm_release_device(uint32_t dev)
{
}
void snpu__ipc_release_device(uint32_t dev)
{
}
void snpu__register_release_device(uint32_t dev)
{
}
void snpu__ipc_block_freed(uintptr_t base, uint64_t size_b)
{
}
