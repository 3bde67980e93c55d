# SPDX-License-Identifier: Apache-2.0
# find_package(softnpu): imported targets softnpu::NAME for the libraries of the toolkit tree, and softnpu::softnpu for a
# program that uses the runtime only. Sets softnpu_HOME.
get_filename_component(softnpu_HOME "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

foreach(_softnpu_name ascendcl acl_op_compiler acl_tdt_channel acl_tdt_queue nnopbase opapi hccl ms_tools_ext msprofiler
        ascend_hal runtime)
    if(NOT TARGET softnpu::${_softnpu_name} AND EXISTS "${softnpu_HOME}/lib64/lib${_softnpu_name}.so")
        add_library(softnpu::${_softnpu_name} SHARED IMPORTED)
        set_target_properties(softnpu::${_softnpu_name} PROPERTIES
            IMPORTED_LOCATION "${softnpu_HOME}/lib64/lib${_softnpu_name}.so"
            IMPORTED_SONAME "lib${_softnpu_name}.so"
            INTERFACE_INCLUDE_DIRECTORIES "${softnpu_HOME}/include;${softnpu_HOME}/include/aclnn")
    endif()
endforeach()
unset(_softnpu_name)

if(NOT TARGET softnpu::softnpu AND TARGET softnpu::ascendcl)
    add_library(softnpu::softnpu INTERFACE IMPORTED)
    set_target_properties(softnpu::softnpu PROPERTIES INTERFACE_LINK_LIBRARIES softnpu::ascendcl)
endif()
set(softnpu_FOUND TRUE)
