/* SPDX-License-Identifier: Apache-2.0 */
/* --help, the reference page and the man page, all printed from the rows of flags_table.h. */
#include "monitor/daemon/flags_internal.h"

static const char *const types[] = {"", "bool", "int", "text"}; /* by enum mon_flag_type */

static void default_text(const struct mon_flag *flag, char *out, size_t out_b)
{
    switch (flag->type) {
    case MON_FLAG_BOOL:
        snprintf(out, out_b, "%s", flag->number != 0 ? "true" : "false");
        break;
    case MON_FLAG_INT:
        snprintf(out, out_b, "%lld", (long long)flag->number);
        break;
    default:
        snprintf(out, out_b, "\"%s\"", flag->text != NULL ? flag->text : "");
        break;
    }
}

void mon_flags_help(FILE *out, const char *program)
{
    fprintf(out,
            "usage: %s [--flag=value | --flag value | --switch | --noswitch]...\n\n"
            "The monitoring daemon of a node: serves dyno (RPC), talks to training processes (IPC), collects metrics.\n"
            "Usual start:  %s --enable_ipc_monitor\n"
            "              %s --flagfile=/etc/dynolog.gflags\n\n"
            "  --flagfile=FILE  read flags from a file, one per line, # begins a comment\n"
            "  --help, --version\n",
            program, program, program);
    for (size_t i = 0; i < mon__flag_count; i++) {
        const struct mon_flag *flag = &mon__flags[i];
        if (flag->type == MON_FLAG_SECTION) {
            fprintf(out, "\n%s\n", flag->name);
            continue;
        }
        char value[160];
        default_text(flag, value, sizeof(value));
        fprintf(out, "  --%s (%s, default %s)\n        %s\n", flag->name, types[flag->type], value, flag->help);
    }
}

void mon_flags_markdown(FILE *out)
{
    fputs(
        "# Flags of dynolog\n\n"
        "Written by `dynolog --help_markdown`; do not edit.\n\n"
        "One or two dashes, `--flag=value` or `--flag value`, `--switch` and `--noswitch`; dashes and underscores in\n"
        "names are the same. `--flagfile=FILE` reads flags from a file, one per line, `#` begins a comment. The last\n"
        "value of a flag counts. An unknown flag ends the daemon with status 1.\n\n"
        "`known to`: which daemons have the flag, so that flag files can be shared: the NPU fork (fork), dynolog\n"
        "(upstream), or only this one (own).\n",
        out);
    for (size_t i = 0; i < mon__flag_count; i++) {
        const struct mon_flag *flag = &mon__flags[i];
        if (flag->type == MON_FLAG_SECTION) {
            fprintf(out, "\n## %s\n\n| flag | type | default | known to | meaning |\n|---|---|---|---|---|\n",
                    flag->name);
            continue;
        }
        char value[160];
        default_text(flag, value, sizeof(value));
        fprintf(out, "| `--%s` | %s | `%s` |%s%s%s | %s |\n", flag->name, types[flag->type], value,
                (flag->where & MON_FLAG_FORK) != 0 ? " fork" : "",
                (flag->where & MON_FLAG_UPSTREAM) != 0 ? " upstream" : "",
                (flag->where & MON_FLAG_OWN) != 0 ? " own" : "", flag->help);
    }
}

/* ---- man page ---- */

/* Prints text for roff: escapes backslashes and minus signs, and dots and quotes at the start of a line. */
static void roff(FILE *out, const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        if ((*s == '.' || *s == '\'') && (s == text || s[-1] == '\n')) {
            fputs("\\&", out);
        }
        if (*s == '-') {
            fputs("\\-", out);
        } else if (*s == '\\') {
            fputs("\\e", out);
        } else {
            putc(*s, out);
        }
    }
}

static const char man_head[] =
    ".TH DYNOLOG 8 \"\" \"npuscope " NPUSCOPE_VERSION "\" \"System Administration\"\n"
    ".SH NAME\n"
    "dynolog \\- monitoring daemon for training jobs\n"
    ".SH SYNOPSIS\n"
    ".B dynolog\n"
    ".RB [ \\-\\-flagfile=\\fIFILE\\fR ]\n"
    ".RB [ \\-\\-\\fIflag\\fR [ =\\fIvalue\\fR ]]...\n"
    ".SH DESCRIPTION\n"
    ".B dynolog\n"
    "runs once per node. It serves\n"
    ".BR dyno (1)\n"
    "on a TCP port, passes commands to training processes over unix sockets, receives their reports, samples the node's\n"
    "processors, network, registered processes and NPUs, and exports metrics to Prometheus, TensorBoard, an OTLP\n"
    "receiver or its log.\n"
    ".PP\n"
    "Flags take one or two dashes; dashes and underscores in names are equivalent;\n"
    ".BI \\-\\-no flag\n"
    "turns a switch off. An unknown flag, or a component that cannot start (a port in use, certificates that are not\n"
    "accepted), ends the daemon with status 1 and a message that names the flag.\n"
    ".SH FLAGS\n"
    ".TP\n"
    ".BI \\-\\-flagfile= FILE\n"
    "read flags from a file, one per line; # starts a comment\n"
    ".TP\n"
    ".BR \\-\\-help \", \" \\-\\-version\n"
    "print help or the version and exit\n";

static const char man_tail[] =
    ".SH SIGNALS\n"
    ".TP\n"
    ".BR SIGTERM \", \" SIGINT\n"
    "Clean shutdown: sockets are removed and queued TensorBoard events are written.\n"
    ".TP\n"
    ".B SIGHUP\n"
    "Reopens the log and reloads certificates.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I /etc/dynolog.gflags\n"
    "Flags of the packaged unit, one per line.\n"
    ".TP\n"
    ".I /var/log/dynolog.log\n"
    "The log.\n"
    ".TP\n"
    ".I /run/dynolog\n"
    "Sockets for members of the group\n"
    ".BR dynolog .\n"
    ".TP\n"
    ".IR ~/dynolog.sock \", \" ~/dynolog_data.sock\n"
    "Sockets for NPU clients of the user who runs the daemon.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n"
    ".BR OTEL_EXPORTER_OTLP_ENDPOINT \", \" OTEL_SERVICE_NAME\n"
    "Override\n"
    ".B \\-\\-otlp_endpoint\n"
    "and\n"
    ".BR \\-\\-otlp_service_name .\n"
    ".TP\n"
    ".B NOTIFY_SOCKET\n"
    "Socket on which the service manager is notified that the daemon is ready.\n"
    ".SH EXAMPLES\n"
    ".nf\n"
    "dynolog \\-\\-enable\\-ipc\\-monitor \\-\\-certs\\-dir /home/server_certs\n"
    "dynolog \\-\\-enable\\-ipc\\-monitor \\-\\-use_prometheus \\-\\-metric_log_dir /tmp/metrics\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR dyno (1)\n";

void mon_flags_man(FILE *out)
{
    fputs(man_head, out);
    for (size_t i = 0; i < mon__flag_count; i++) {
        const struct mon_flag *flag = &mon__flags[i];
        if (flag->type == MON_FLAG_SECTION) {
            fprintf(out, ".SS \"%s\"\n", flag->name);
            continue;
        }
        char value[160];
        default_text(flag, value, sizeof(value));
        fputs(".TP\n.B ", out);
        roff(out, "--");
        roff(out, flag->name);
        fprintf(out, "\n(%s, default ", types[flag->type]);
        roff(out, value);
        fputs(")\n", out);
        roff(out, flag->help);
        putc('\n', out);
    }
    fputs(man_tail, out);
}
