/* SPDX-License-Identifier: Apache-2.0 */
/* The only table of the daemon's metrics; the text format, OTLP, the reference page and the dashboard test use it.
 *
 * A row: X(id, name, type, unit, group, labels, limit, help)
 *   name    as Prometheus shows it: base units, counters end in _total
 *   unit    as OTLP names it (UCUM): s By Cel W ...; "1" for a number or a ratio
 *   group   selected by collect[]= in a scrape
 *   labels  L(job) | L(rank) ...; `host` is on every series and not listed here
 *   limit   maximum number of series of this metric; series.h describes what happens beyond it */
#ifndef MON_STORE_METRIC_TABLE_H
#define MON_STORE_METRIC_TABLE_H

/* Labels: X(name, merges, help). When a metric has reached its limit, labels that merge get the value "other", so that
 * totals stay correct. */
#define MON_LABEL_TABLE(X)                                                                                             \
    X(job, 0, "job id that the process registered with (SLURM_JOB_ID, else 0)")                                        \
    X(rank, 0, "rank of the process, empty if unknown")                                                                \
    X(device, 0, "device number, or host")                                                                             \
    X(pid, 0, "process id as the daemon sees it")                                                                      \
    X(kind, 1, "kind of activity: Kernel, Communication, ...; kind of message")                                        \
    X(domain, 1, "domain of a marker")                                                                                 \
    X(name, 1, "name of a marker, operator or metric")                                                                 \
    X(net, 1, "network interface")                                                                                     \
    X(mode, 0, "processor mode: user, system, ...")                                                                    \
    X(unit, 0, "part of a device: aicore, hbm, ...")                                                                   \
    X(reason, 1, "why something was refused or dropped")                                                               \
    X(function, 1, "RPC function")                                                                                     \
    X(sink, 0, "back end")                                                                                             \
    X(version, 0, "version of the program")

/* Groups: X(id, name, help) */
#define MON_METRIC_GROUP_TABLE(X)                                                                                      \
    X(HOST, "host", "processors and network of the node")                                                              \
    X(PROCESS, "process", "registered processes of jobs")                                                              \
    X(NPU, "npu", "health and memory of devices")                                                                      \
    X(ACTIVITY, "activity", "reports of training processes, summed by kind")                                           \
    X(OPERATOR, "operator", "reports of training processes, by operator")                                              \
    X(DAEMON, "daemon", "the daemon itself")                                                                           \
    X(LEGACY, "legacy", "metric names of upstream's exporter, with its label host_name")

#define MON_METRIC_TABLE(X)                                                                                            \
    /* ---- host ---- */                                                                                               \
    X(HOST_UPTIME, "host_uptime_seconds", GAUGE, "s", HOST, 0, 1, "Time since the node started.")                      \
    X(HOST_CPU, "host_cpu_seconds_total", COUNTER, "s", HOST, L(mode), 16, "Processor time, by mode.")                 \
    X(HOST_INSTRUCTIONS, "host_cpu_instructions_total", COUNTER, "1", HOST, 0, 1,                                      \
      "Instructions executed by all processors.")                                                                      \
    X(HOST_CYCLES, "host_cpu_cycles_total", COUNTER, "1", HOST, 0, 1, "Processor cycles of all processors.")           \
    X(HOST_RX_BYTES, "host_network_receive_bytes_total", COUNTER, "By", HOST, L(net), 256, "Bytes received.")          \
    X(HOST_RX_PACKETS, "host_network_receive_packets_total", COUNTER, "1", HOST, L(net), 256, "Packets received.")     \
    X(HOST_RX_ERRORS, "host_network_receive_errors_total", COUNTER, "1", HOST, L(net), 256, "Receive errors.")         \
    X(HOST_RX_DROPS, "host_network_receive_drops_total", COUNTER, "1", HOST, L(net), 256, "Received packets dropped.") \
    X(HOST_TX_BYTES, "host_network_transmit_bytes_total", COUNTER, "By", HOST, L(net), 256, "Bytes sent.")             \
    X(HOST_TX_PACKETS, "host_network_transmit_packets_total", COUNTER, "1", HOST, L(net), 256, "Packets sent.")        \
    X(HOST_TX_ERRORS, "host_network_transmit_errors_total", COUNTER, "1", HOST, L(net), 256, "Transmit errors.")       \
    X(HOST_TX_DROPS, "host_network_transmit_drops_total", COUNTER, "1", HOST, L(net), 256,                             \
      "Outgoing packets dropped.")                                                                                     \
    /* ---- processes of jobs ---- */                                                                                  \
    X(PROCESS_CPU, "job_process_cpu_seconds_total", COUNTER, "s", PROCESS, L(job) | L(rank) | L(pid), 4096,            \
      "Processor time of a registered process, all threads.")                                                          \
    X(PROCESS_RESIDENT, "job_process_resident_bytes", GAUGE, "By", PROCESS, L(job) | L(rank) | L(pid), 4096,           \
      "Resident memory of a registered process.")                                                                      \
    X(PROCESS_VIRTUAL, "job_process_virtual_bytes", GAUGE, "By", PROCESS, L(job) | L(rank) | L(pid), 4096,             \
      "Address space of a registered process.")                                                                        \
    X(PROCESS_THREADS, "job_process_threads", GAUGE, "1", PROCESS, L(job) | L(rank) | L(pid), 4096,                    \
      "Threads of a registered process.")                                                                              \
    /* ---- devices ---- */                                                                                            \
    X(NPU_HEALTH, "npu_health_status", GAUGE, "1", NPU, L(device), 128,                                                \
      "Health reported by the driver: 0 is healthy, larger is worse.")                                                 \
    X(NPU_ERRORS, "npu_error_codes", GAUGE, "1", NPU, L(device), 128, "Number of current device errors.")              \
    X(NPU_TEMPERATURE, "npu_temperature_celsius", GAUGE, "Cel", NPU, L(device), 128, "Chip temperature.")              \
    X(NPU_POWER, "npu_power_watts", GAUGE, "W", NPU, L(device), 128, "Power drawn.")                                   \
    X(NPU_VOLTAGE, "npu_voltage_volts", GAUGE, "V", NPU, L(device), 128, "Chip voltage.")                              \
    X(NPU_FREQUENCY, "npu_aicore_frequency_hertz", GAUGE, "Hz", NPU, L(device), 128, "AI core frequency.")             \
    X(NPU_UTILIZATION, "npu_utilization_ratio", GAUGE, "1", NPU, L(device) | L(unit), 640,                             \
      "Utilization of a unit, 0 to 1.")                                                                                \
    X(NPU_MEMORY, "npu_memory_capacity_bytes", GAUGE, "By", NPU, L(device), 128, "Device memory (HBM) capacity.")      \
    X(NPU_MEMORY_USED, "npu_memory_used_bytes", GAUGE, "By", NPU, L(device), 128, "Device memory in use.")             \
    X(NPU_MEMORY_FREQUENCY, "npu_memory_frequency_hertz", GAUGE, "Hz", NPU, L(device), 128, "HBM frequency.")          \
    X(NPU_MEMORY_TEMPERATURE, "npu_memory_temperature_celsius", GAUGE, "Cel", NPU, L(device), 128, "HBM temperature.") \
    X(NPU_MEMORY_BANDWIDTH, "npu_memory_bandwidth_utilization_ratio", GAUGE, "1", NPU, L(device), 128,                 \
      "HBM bandwidth utilization, 0 to 1.")                                                                            \
    X(NPU_PROCESS_MEMORY, "npu_process_memory_bytes", GAUGE, "By", NPU, L(job) | L(rank) | L(device) | L(pid), 4096,   \
      "Device memory of a process; job is empty if the process is not registered.")                                    \
    X(NPU_SAMPLES, "npu_samples_total", COUNTER, "1", NPU, 0, 1, "Sampling rounds over all devices.")                  \
    X(NPU_SAMPLE_FAILURES, "npu_sample_failures_total", COUNTER, "1", NPU, L(reason), 64,                              \
      "Calls of the driver's library that failed, by function.")                                                       \
    /* ---- what training processes report ---- */                                                                     \
    X(ACTIVITY_TIME, "npu_activity_seconds_total", COUNTER, "s", ACTIVITY, L(job) | L(rank) | L(device) | L(kind),     \
      4096, "Activity time reported by npu-monitor, by kind.")                                                         \
    X(ACTIVITY_REPORTS, "npu_activity_reports_total", COUNTER, "1", ACTIVITY, L(job) | L(rank) | L(device) | L(kind),  \
      4096, "Reports received from npu-monitor, by kind.")                                                             \
    X(ACTIVITY_LAST, "npu_activity_last_seconds", GAUGE, "s", ACTIVITY, L(job) | L(rank) | L(device) | L(kind), 4096,  \
      "Time in the last report: one reporting interval, or one marker range.")                                         \
    X(MARKER, "npu_marker_duration_seconds", HISTOGRAM, "s", OPERATOR,                                                 \
      L(job) | L(rank) | L(device) | L(domain) | L(name), 256, "Duration of marker ranges.")                           \
    X(OPERATOR, "npu_operator_duration_seconds", HISTOGRAM, "s", OPERATOR,                                             \
      L(job) | L(rank) | L(device) | L(kind) | L(name), 512, "Duration of operator executions.")                       \
    X(OPERATOR_MIN, "npu_operator_duration_min_seconds", GAUGE, "s", OPERATOR,                                         \
      L(job) | L(rank) | L(device) | L(kind) | L(name), 512, "Shortest execution in the last reporting interval.")     \
    X(OPERATOR_MAX, "npu_operator_duration_max_seconds", GAUGE, "s", OPERATOR,                                         \
      L(job) | L(rank) | L(device) | L(kind) | L(name), 512, "Longest execution in the last reporting interval.")      \
    X(OPERATOR_BYTES, "npu_operator_bytes_total", COUNTER, "By", OPERATOR,                                             \
      L(job) | L(rank) | L(device) | L(kind) | L(name), 512, "Bytes moved by an operator, where reported.")            \
    X(RECORDS_LOST, "npu_records_lost_total", COUNTER, "1", ACTIVITY, L(job) | L(rank), 4096,                          \
      "Records that a training process reported as lost.")                                                             \
    /* ---- the daemon ---- */                                                                                         \
    X(BUILD_INFO, "dynolog_build_info", GAUGE, "1", DAEMON, L(version), 2, "Always 1; the version is a label.")        \
    X(START_TIME, "dynolog_start_time_seconds", GAUGE, "s", DAEMON, 0, 1, "Start time of the daemon (Unix time).")     \
    X(PROCESSES, "dynolog_registered_processes", GAUGE, "1", DAEMON, L(job), 1024, "Registered processes per job.")    \
    X(IPC_MESSAGES, "dynolog_ipc_messages_total", COUNTER, "1", DAEMON, L(kind), 32,                                   \
      "Messages received from processes.")                                                                             \
    X(IPC_REFUSED, "dynolog_ipc_refused_total", COUNTER, "1", DAEMON, L(reason), 64,                                   \
      "Messages from processes that were refused.")                                                                    \
    X(IPC_REPLIES, "dynolog_ipc_replies_total", COUNTER, "1", DAEMON, L(kind), 32, "Replies sent to processes.")       \
    X(IPC_REPLY_FAILURES, "dynolog_ipc_reply_failures_total", COUNTER, "1", DAEMON, L(reason), 64,                     \
      "Replies that could not be sent.")                                                                               \
    X(RPC_CONNECTIONS, "dynolog_rpc_connections", GAUGE, "1", DAEMON, 0, 1, "Open RPC connections.")                   \
    X(RPC_ACCEPTED, "dynolog_rpc_accepted_total", COUNTER, "1", DAEMON, 0, 1, "RPC connections accepted.")             \
    X(RPC_REQUESTS, "dynolog_rpc_requests_total", COUNTER, "1", DAEMON, L(function), 64, "RPC calls answered.")        \
    X(RPC_REFUSED, "dynolog_rpc_refused_total", COUNTER, "1", DAEMON, L(reason), 64, "RPC calls refused.")             \
    X(LOG_SUPPRESSED, "dynolog_log_suppressed_total", COUNTER, "1", DAEMON, 0, 1,                                      \
      "Log lines suppressed by the rate limit.")                                                                       \
    X(SERIES, "dynolog_series", GAUGE, "1", DAEMON, 0, 1, "Series in the store.")                                      \
    X(SERIES_MERGED, "dynolog_series_merged_total", COUNTER, "1", DAEMON, L(name), 128,                                \
      "Values added to a series \"other\" because the metric had reached its limit.")                                  \
    X(SERIES_REFUSED, "dynolog_series_refused_total", COUNTER, "1", DAEMON, L(name), 128,                              \
      "Values lost because the metric or the store had reached its limit of series.")                                  \
    X(BACKEND_RECORDS, "dynolog_sink_records_total", COUNTER, "1", DAEMON, L(sink), 16,                                \
      "Records passed to a back end.")                                                                                 \
    X(BACKEND_DROPPED, "dynolog_sink_dropped_total", COUNTER, "1", DAEMON, L(sink) | L(reason), 64,                    \
      "Records dropped by a back end.")                                                                                \
    X(BACKEND_QUEUE, "dynolog_sink_queue_length", GAUGE, "1", DAEMON, L(sink), 16, "Records queued in a back end.")    \
    X(SCRAPES, "dynolog_scrapes_total", COUNTER, "1", DAEMON, 0, 1, "Scrapes of /metrics.")                            \
    /* ---- upstream's names: changes over the last period ---- */                                                     \
    X(L_UPTIME, "uptime", GAUGE, "s", LEGACY, 0, 1, "Seconds since the node started.")                                 \
    X(L_CPU_UTIL, "cpu_util", GAUGE, "%", LEGACY, 0, 1, "Percentage of time processors were not idle.")                \
    X(L_CPU_U, "cpu_u", GAUGE, "%", LEGACY, 0, 1, "Percentage of time in user mode.")                                  \
    X(L_CPU_S, "cpu_s", GAUGE, "%", LEGACY, 0, 1, "Percentage of time in system mode.")                                \
    X(L_CPU_I, "cpu_i", GAUGE, "%", LEGACY, 0, 1, "Percentage of time idle.")                                          \
    X(L_CPU_U_MS, "cpu_u_ms", GAUGE, "ms", LEGACY, 0, 1, "Time in user mode.")                                         \
    X(L_CPU_S_MS, "cpu_s_ms", GAUGE, "ms", LEGACY, 0, 1, "Time in system mode.")                                       \
    X(L_CPU_W_MS, "cpu_w_ms", GAUGE, "ms", LEGACY, 0, 1, "Time waiting for I/O.")                                      \
    X(L_CPU_N_MS, "cpu_n_ms", GAUGE, "ms", LEGACY, 0, 1, "Time in user mode at low priority.")                         \
    X(L_CPU_X_MS, "cpu_x_ms", GAUGE, "ms", LEGACY, 0, 1, "Time in interrupts.")                                        \
    X(L_CPU_Y_MS, "cpu_y_ms", GAUGE, "ms", LEGACY, 0, 1, "Time in soft interrupts.")                                   \
    X(L_CPU_Z_MS, "cpu_z_ms", GAUGE, "ms", LEGACY, 0, 1, "Time stolen by the hypervisor.")                             \
    X(L_MIPS, "mips", GAUGE, "1", LEGACY, 0, 1, "Million instructions per second per processor.")                      \
    X(L_MCPS, "mega_cycles_per_second", GAUGE, "1", LEGACY, 0, 1, "Million cycles per second per processor.")          \
    X(L_RX_BYTES, "rx_bytes", GAUGE, "By", LEGACY, L(net), 256, "Bytes received in the last period.")                  \
    X(L_RX_PACKETS, "rx_packets", GAUGE, "1", LEGACY, L(net), 256, "Packets received in the last period.")             \
    X(L_RX_ERRORS, "rx_errors", GAUGE, "1", LEGACY, L(net), 256, "Receive errors in the last period.")                 \
    X(L_RX_DROPS, "rx_drops", GAUGE, "1", LEGACY, L(net), 256, "Received packets dropped in the last period.")         \
    X(L_TX_BYTES, "tx_bytes", GAUGE, "By", LEGACY, L(net), 256, "Bytes sent in the last period.")                      \
    X(L_TX_PACKETS, "tx_packets", GAUGE, "1", LEGACY, L(net), 256, "Packets sent in the last period.")                 \
    X(L_TX_ERRORS, "tx_errors", GAUGE, "1", LEGACY, L(net), 256, "Transmit errors in the last period.")                \
    X(L_TX_DROPS, "tx_drops", GAUGE, "1", LEGACY, L(net), 256, "Outgoing packets dropped in the last period.")

#endif
