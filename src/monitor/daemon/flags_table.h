/* SPDX-License-Identifier: Apache-2.0 */
/* The only table of the daemon's flags: the struct of values, the parser, --help, dynolog(8) and
 * docs/reference/dynolog-flags.md are generated from it.
 *
 *     BOOL(name, default, where, help)
 *     INT(name, default, smallest, largest, where, help)
 *     TEXT(name, default, where, help)
 *
 * where: the programs that have the flag (MON_FLAG_FORK the NPU daemon, MON_FLAG_UPSTREAM dynolog, MON_FLAG_OWN only
 * this one); with MON_FLAG_IGNORED the flag is accepted with a warning, so that existing flag files load.
 * SECTION(title) starts a section of the help. */
#ifndef MON_DAEMON_FLAGS_TABLE_H
#define MON_DAEMON_FLAGS_TABLE_H

#define MON_FLAG_BOTH  (MON_FLAG_FORK | MON_FLAG_UPSTREAM)
#define MON_FLAG_GONE  (MON_FLAG_BOTH | MON_FLAG_IGNORED)
#define MON_FLAG_NEWER (MON_FLAG_UPSTREAM | MON_FLAG_IGNORED)

#define MON_FLAG_TABLE(SECTION, BOOL, INT, TEXT)                                                                       \
    SECTION("Control: RPC and TLS")                                                                                    \
    INT(port, 1778, 0, 65535, MON_FLAG_BOTH, "TCP port of the RPC server; 0: chosen by the kernel and logged")         \
    TEXT(bind_address, "", MON_FLAG_OWN,                                                                               \
         "comma-separated addresses for the RPC server; empty: all with certificates, loopback without")               \
    TEXT(certs_dir, "NO_CERTS", MON_FLAG_FORK,                                                                         \
         "directory with server.crt, server.key, ca.crt and optionally ca.crl, or NO_CERTS for plain text")            \
    TEXT(certs_passphrase_file, "", MON_FLAG_OWN,                                                                      \
         "file with the passphrase of server.key; default: DYNOLOG_CERTS_PASSPHRASE, then a prompt on the terminal")   \
    SECTION("Training processes: IPC fabric")                                                                          \
    BOOL(enable_ipc_monitor, false, MON_FLAG_BOTH, "open the IPC endpoints for training processes")                    \
    TEXT(ipc_name, "dynolog", MON_FLAG_OWN,                                                                            \
         "name of the abstract endpoints: <name> and <name>_data; empty: no abstract endpoints")                       \
    BOOL(ipc_home, true, MON_FLAG_OWN,                                                                                 \
         "open dynolog.sock and dynolog_data.sock in the user's home directory (for NPU clients since 8.3.0)")         \
    TEXT(ipc_home_dir, "", MON_FLAG_OWN, "directory for these two sockets instead of the home directory")              \
    TEXT(ipc_users, "", MON_FLAG_OWN,                                                                                  \
         "as root: comma-separated users in whose home directories the two sockets are opened too")                    \
    TEXT(ipc_socket_dir, "", MON_FLAG_OWN,                                                                             \
         "directory for socket files for clients with KINETO_IPC_SOCKET_DIR; default: the daemon's own variable")      \
    TEXT(ipc_socket_group, "", MON_FLAG_OWN,                                                                           \
         "group of the files in ipc_socket_dir (mode 0660); empty: all users may write (mode 0666)")                   \
    TEXT(ipc_allow_users, "auto", MON_FLAG_OWN,                                                                        \
         "users whose processes are served: any, own, or a comma-separated list; auto: any as root, otherwise own. "   \
         "root is always served")                                                                                      \
    TEXT(state_file, "auto", MON_FLAG_OWN,                                                                             \
         "file that preserves pending commands and states across restarts of the daemon; empty: none")                 \
    SECTION("Log and service")                                                                                         \
    TEXT(log_file, "", MON_FLAG_OWN,                                                                                   \
         "log file, or stderr; empty: stderr on a terminal, otherwise /var/log/dynolog.log if writable")               \
    INT(log_max_mb, 10, 0, 1 << 20, MON_FLAG_OWN, "size in MiB at which the log file is rotated; 0: never")            \
    INT(log_keep, 7, 0, 1000, MON_FLAG_OWN, "number of rotated log files to keep")                                     \
    INT(minloglevel, 0, 0, 3, MON_FLAG_BOTH, "minimum level to log: 0 info, 1 warning, 2 error, 3 fatal")              \
    BOOL(logtostderr, false, MON_FLAG_BOTH, "log to stderr (same as --log_file=stderr)")                               \
    TEXT(pid_file, "", MON_FLAG_OWN, "pid file; the daemon does not start if another one holds it")                    \
    SECTION("Metrics: collectors")                                                                                     \
    INT(kernel_monitor_reporting_interval_s, 60, 1, 86400, MON_FLAG_BOTH, "interval of kernel metrics in seconds")     \
    BOOL(enable_perf_monitor, false, MON_FLAG_BOTH, "sample CPU performance counters")                                 \
    INT(perf_monitor_reporting_interval_s, 60, 1, 86400, MON_FLAG_BOTH,                                                \
        "interval of CPU performance counters in seconds")                                                             \
    BOOL(filter_nic_interfaces, false, MON_FLAG_BOTH,                                                                  \
         "limit network metrics to interfaces with one of the prefixes below")                                         \
    TEXT(allow_interface_prefixes, "eno,ens,enp,enx,eth", MON_FLAG_BOTH,                                               \
         "comma-separated prefixes of interface names")                                                                \
    BOOL(enable_npu_metrics, true, MON_FLAG_OWN,                                                                       \
         "read health and memory of devices from the driver's library, if installed")                                  \
    TEXT(dcmi_lib_path, "libdcmi.so", MON_FLAG_OWN, "the driver's library: a name for the loader, or a path")          \
    INT(npu_reporting_interval_s, 10, 1, 86400, MON_FLAG_OWN, "interval of device metrics in seconds")                 \
    INT(process_reporting_interval_s, 10, 1, 86400, MON_FLAG_OWN,                                                      \
        "interval of processor time and memory of registered processes in seconds")                                    \
    INT(metric_max_series, 20000, 100, 10000000, MON_FLAG_OWN,                                                         \
        "maximum number of series; values beyond it are counted")                                                      \
    INT(metric_operators, 512, 0, 1000000, MON_FLAG_OWN,                                                               \
        "number of operators, over all ranks and devices, with their own series; others are counted as other")         \
    INT(metric_expire_s, 900, 1, 31536000, MON_FLAG_OWN, "seconds after which the series of a silent job are removed") \
    SECTION("Metrics: back ends")                                                                                      \
    BOOL(use_JSON, false, MON_FLAG_BOTH, "write records as JSON to the log")                                           \
    TEXT(metric_log_dir, "", MON_FLAG_FORK, "directory for TensorBoard event files; empty: none")                      \
    INT(tensorboard_max_mb, 64, 0, 1 << 20, MON_FLAG_OWN,                                                              \
        "size in MiB at which a new event file is started; 0: never")                                                  \
    INT(tensorboard_keep, 4, 1, 1000000, MON_FLAG_OWN, "number of event files to keep per device")                     \
    BOOL(use_prometheus, false, MON_FLAG_BOTH, "serve metrics to Prometheus over HTTP")                                \
    INT(prometheus_port, 8080, 0, 65535, MON_FLAG_BOTH, "port of the Prometheus exporter")                             \
    TEXT(prometheus_address, "127.0.0.1", MON_FLAG_UPSTREAM, "address of the Prometheus exporter")                     \
    BOOL(use_otlp, false, MON_FLAG_UPSTREAM, "send metrics by OTLP over HTTP")                                         \
    TEXT(otlp_endpoint, "", MON_FLAG_UPSTREAM, "OTLP receiver; /v1/metrics is appended if missing")                    \
    INT(otlp_interval_s, 10, 1, 86400, MON_FLAG_OWN, "export interval in seconds")                                     \
    TEXT(otlp_service_name, "dynolog", MON_FLAG_UPSTREAM, "service.name of exported metrics")                          \
    TEXT(otlp_headers, "", MON_FLAG_UPSTREAM, "additional HTTP headers: name=value, separated by commas")              \
    INT(otlp_timeout_ms, 30000, 1, 3600000, MON_FLAG_UPSTREAM, "timeout of a request")                                 \
    INT(otlp_max_queue_size, 1000, 1, 1000000, MON_FLAG_UPSTREAM, "maximum number of queued records")                  \
    TEXT(otlp_ssl_ca_cert_path, "", MON_FLAG_UPSTREAM, "CA bundle for an https receiver")                              \
    TEXT(otlp_ssl_client_cert_path, "", MON_FLAG_UPSTREAM, "client certificate for an https receiver")                 \
    TEXT(otlp_ssl_client_key_path, "", MON_FLAG_UPSTREAM, "key of the client certificate")                             \
    SECTION("Accepted for existing flag files, without effect")                                                        \
    BOOL(enable_gpu_monitor, false, MON_FLAG_GONE, "DCGM sampling")                                                    \
    INT(dcgm_reporting_interval_s, 10, 1, 86400, MON_FLAG_GONE, "DCGM interval")                                       \
    TEXT(dcgm_fields, "100,155,204,1001,1002,1003,1004,1005,1006,1007,1008,1009,1010,1011,1012", MON_FLAG_GONE,        \
         "DCGM field ids")                                                                                             \
    TEXT(dcgm_lib_path, "/lib64/libdcgm.so", MON_FLAG_GONE, "DCGM library")                                            \
    INT(dcgm_major_version, 2, 2, 4, MON_FLAG_NEWER, "DCGM version")                                                   \
    TEXT(dcgm_standalone_address, "", MON_FLAG_NEWER, "running DCGM host engine")                                      \
    BOOL(enable_env_var_attribution, true, MON_FLAG_GONE, "job attributes on GPU records")                             \
    TEXT(env_attribution_mappings_file, "", MON_FLAG_NEWER, "names of job attributes")                                 \
    BOOL(use_fbrelay, false, MON_FLAG_GONE, "TCP relay")                                                               \
    TEXT(fbrelay_address, "127.0.0.1", MON_FLAG_GONE, "relay target")                                                  \
    INT(fbrelay_port, 10000, 0, 65535, MON_FLAG_GONE, "relay port")                                                    \
    BOOL(use_ODS, false, MON_FLAG_GONE, "ODS")                                                                         \
    TEXT(category_id, "", MON_FLAG_GONE, "ODS category")                                                               \
    TEXT(ods_entity_prefix, "", MON_FLAG_GONE, "ODS entity")                                                           \
    BOOL(use_scuba, false, MON_FLAG_GONE, "Scuba")                                                                     \
    TEXT(scribe_category, "perfpipe_fair_cluster_gpu_stats", MON_FLAG_GONE, "Scuba table")                             \
    TEXT(access_token, "", MON_FLAG_GONE, "token for ODS and Scuba")                                                   \
    TEXT(certificate_path, "/etc/ssl/certs/ca-certificates.crt", MON_FLAG_GONE, "CA bundle for ODS and Scuba")         \
    BOOL(use_otel, false, MON_FLAG_NEWER, "OTLP logs")                                                                 \
    BOOL(use_otel_for_kernel_monitor, false, MON_FLAG_NEWER, "OTLP logs of kernel metrics")                            \
    TEXT(otel_endpoint, "http://localhost:4318", MON_FLAG_NEWER, "OTLP logs receiver")                                 \
    TEXT(otel_resource_env_file, "", MON_FLAG_NEWER, "OTLP logs attributes")                                           \
    TEXT(otel_resource_attrs, "", MON_FLAG_NEWER, "OTLP logs attributes")                                              \
    TEXT(otel_metric_mappings_file, "", MON_FLAG_NEWER, "OTLP logs names")                                             \
    BOOL(enable_tpu_monitor, false, MON_FLAG_NEWER, "TPU scraping")                                                    \
    INT(tpu_reporting_interval_s, 10, 1, 86400, MON_FLAG_NEWER, "TPU interval")                                        \
    INT(tpu_scrape_timeout_ms, 2000, 1, 3600000, MON_FLAG_NEWER, "TPU timeout")                                        \
    TEXT(tpu_device_plugin_url, "http://localhost:2112/metrics", MON_FLAG_NEWER, "TPU source")                         \
    BOOL(enable_pod_resources_attribution, false, MON_FLAG_NEWER, "pod names per device")                              \
    TEXT(pod_resources_socket, "/var/lib/kubelet/pod-resources/kubelet.sock", MON_FLAG_NEWER, "kubelet socket")        \
    TEXT(pod_resources_gpu_resource, "nvidia.com/gpu", MON_FLAG_NEWER, "resource name")                                \
    TEXT(pod_resources_tpu_resource, "google.com/tpu", MON_FLAG_NEWER, "resource name")                                \
    BOOL(alsologtostderr, false, MON_FLAG_GONE, "logging library")                                                     \
    BOOL(colorlogtostderr, false, MON_FLAG_GONE, "logging library")                                                    \
    INT(stderrthreshold, 2, 0, 3, MON_FLAG_GONE, "logging library")                                                    \
    INT(v, 0, INT32_MIN, INT32_MAX, MON_FLAG_GONE, "logging library")                                                  \
    TEXT(vmodule, "", MON_FLAG_GONE, "logging library")                                                                \
    TEXT(log_dir, "", MON_FLAG_GONE, "logging library")                                                                \
    INT(logbufsecs, 30, 0, INT32_MAX, MON_FLAG_GONE, "logging library")                                                \
    INT(max_log_size, 1800, 0, INT32_MAX, MON_FLAG_GONE, "logging library")

#endif
