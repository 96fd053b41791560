# The C++ headers of MessagePack. Debian's own CMake file is found as "msgpack", but so is that of
# the C library where it is installed, too; hence this one. Defines msgpackc-cxx.
find_path(MsgpackCxx_INCLUDE_DIR msgpack.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MsgpackCxx REQUIRED_VARS MsgpackCxx_INCLUDE_DIR)
if(MsgpackCxx_FOUND AND NOT TARGET msgpackc-cxx)
  add_library(msgpackc-cxx INTERFACE IMPORTED)
  set_target_properties(msgpackc-cxx PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${MsgpackCxx_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES Boost::headers)
endif()
mark_as_advanced(MsgpackCxx_INCLUDE_DIR)
