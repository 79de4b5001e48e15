# An overlay port: vcpkg install wsq --overlay-ports=examples/packaging/vcpkg. It takes the header from
# the checkout that it lies in; a port in a registry has vcpkg_from_git here, with the address and the
# commit.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

file(INSTALL "${SOURCE_PATH}/wsq.h" "${SOURCE_PATH}/examples/wsq.hpp"
    "${SOURCE_PATH}/examples/wsq_algorithm.hpp" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
file(INSTALL "${SOURCE_PATH}/examples/packaging/cmake/wsqConfig.cmake"
    "${SOURCE_PATH}/examples/packaging/cmake/wsqConfigVersion.cmake"
    DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
