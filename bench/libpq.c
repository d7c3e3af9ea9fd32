/*
 * The workloads on libpq: what a program in C does.
 *
 * libpq WORKLOAD CONNINFO WARMUP SECONDS ROWS PENDING, prints what measure.js prints.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define IN_FLIGHT 1000
#define BATCH 100
#define LINE_LENGTH 256
#define SELECT "SELECT id, name, email, password FROM users WHERE id = $1"

static const char *conninfo;
static PGconn *conn;
static int rows, pending;
static char *ids[IN_FLIGHT];
static char *copy_data;
static size_t copy_length;
static int *line_lengths;

static void fail(const char *what)
{
	char message[256];
	snprintf(message, sizeof message, "%s: %s", what, conn ? PQerrorMessage(conn) : "");
	for (char *c = message; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char) *c < 32)
			*c = ' ';
	printf("{\"failed\":\"%s\"}\n", message);
	exit(0);
}

static void expect(int right, const char *what)
{
	if (!right)
		fail(what);
}

static void open_connection(void)
{
	conn = PQconnectdb(conninfo);
	expect(PQstatus(conn) == CONNECTION_OK, "connecting");
}

/* Waits until there is something to read, or, where that is asked for, room to write. */
static void wait_for(int writing)
{
	struct pollfd pollfd = { .fd = PQsocket(conn), .events = POLLIN | (writing ? POLLOUT : 0) };
	while (poll(&pollfd, 1, -1) < 0)
		expect(errno == EINTR, "poll");
	if (pollfd.revents & POLLIN)
		expect(PQconsumeInput(conn), "reading");
}

static int is_over(ExecStatusType status)
{
	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/*
 * Sends `count` selects of a prepared statement, a Sync after every `each`, and reads what comes back.
 * Sending does not wait for the server, which would wait for us.
 */
static void pipeline(int count, int each)
{
	int synced = 0, flushing = 1, index = 0;

	expect(PQenterPipelineMode(conn), "pipeline mode");
	PQsetnonblocking(conn, 1);
	while (synced * each < count) {
		int room = 1;
		while (index < count && room) {
			const char *values[1] = { ids[index % IN_FLIGHT] };
			expect(PQsendQueryPrepared(conn, "point", 1, values, NULL, NULL, 0), "sending");
			if (++index % each == 0) {
				/* Sync also flushes: a burst leaves in as few writes as libpq makes. */
				expect(PQpipelineSync(conn), "sync");
				flushing = PQflush(conn);
				room = flushing == 0;
			}
		}
		if (flushing)
			flushing = PQflush(conn);
		expect(flushing >= 0, "flush");
		if (PQisBusy(conn))
			wait_for(flushing);
		while (synced * each < count && !PQisBusy(conn)) {
			PGresult *result = PQgetResult(conn);
			if (result == NULL)
				continue;
			ExecStatusType status = PQresultStatus(result);
			if (status == PGRES_PIPELINE_SYNC)
				synced++;
			else
				expect(is_over(status), "result");
			PQclear(result);
			if (synced * each >= index && index < count)
				break;
		}
	}
	PQsetnonblocking(conn, 0);
	expect(PQexitPipelineMode(conn), "end of pipeline mode");
}

static void selects(void) { pipeline(IN_FLIGHT, 1); }
static void batches(void)
{
	for (int i = 0; i < IN_FLIGHT; i += BATCH)
		pipeline(BATCH, BATCH);
}
static void all_pending(void) { pipeline(pending, 1); }

static void sequential(void)
{
	for (int i = 0; i < 100; i++) {
		const char *values[1] = { ids[i] };
		PGresult *result = PQexecPrepared(conn, "point", 1, values, NULL, NULL, 0);
		expect(PQntuples(result) == 1, "one row");
		PQclear(result);
	}
}

/* Reads all rows and the lengths of the columns from one to another. */
static void read_rows(int from, int to)
{
	long length = 0;
	PGresult *result = PQexecParams(conn, "SELECT * FROM strings", 0, NULL, NULL, NULL, NULL, 0);
	expect(PQntuples(result) == rows, "rows");
	for (int row = 0; row < rows; row++)
		for (int column = from; column < to; column++)
			length += strlen(PQgetvalue(result, row, column));
	expect(from == to || length > 0, "length");
	PQclear(result);
}

static void untouched(void) { read_rows(0, 0); }
static void one_column(void) { read_rows(4, 5); }

static void copy_out(void)
{
	char *buffer;
	int length;
	long count = 0;
	PQclear(PQexec(conn, "COPY strings TO STDOUT"));
	while ((length = PQgetCopyData(conn, &buffer, 0)) > 0) {
		count++;
		PQfreemem(buffer);
	}
	expect(length == -1 && count == rows, "rows");
	while (conn && PQstatus(conn) == CONNECTION_OK) {
		PGresult *result = PQgetResult(conn);
		if (result == NULL)
			break;
		PQclear(result);
	}
}

static void make_copy_data(void)
{
	copy_data = malloc((size_t) rows * LINE_LENGTH);
	line_lengths = malloc(rows * sizeof *line_lengths);
	for (int n = 1; n <= rows; n++) {
		line_lengths[n - 1] = sprintf(copy_data + copy_length, "%d\t%ld\tUser %d\t%d@example.com\t%d\t%s\t%.2f\t"
			"2024-01-%02d 12:00:00+00\tnote %d\t00000000000000000000%012d\n", n, n * 7919L, n, n, n % 100,
			n % 2 ? "false" : "true", n / 7.0, 1 + n % 28, n % 1000, n);
		copy_length += line_lengths[n - 1];
	}
}

static void begin_copy(void)
{
	if (copy_data == NULL)
		make_copy_data();
	PQclear(PQexec(conn, "COPY copied FROM STDIN WHERE c1 = '1'"));
}

static void end_copy(void)
{
	PGresult *result;
	expect(PQputCopyEnd(conn, NULL) == 1, "end of copy");
	while ((result = PQgetResult(conn)) != NULL) {
		expect(PQresultStatus(result) == PGRES_COMMAND_OK, "copy");
		PQclear(result);
	}
}

static void copy_in(void)
{
	begin_copy();
	for (size_t done = 0; done < copy_length; done += 65536) {
		size_t left = copy_length - done;
		expect(PQputCopyData(conn, copy_data + done, left < 65536 ? left : 65536) == 1, "copying");
	}
	end_copy();
}

static void copy_in_rows(void)
{
	const char *line;
	begin_copy();
	line = copy_data;
	for (int row = 0; row < rows; line += line_lengths[row++])
		expect(PQputCopyData(conn, line, line_lengths[row]) == 1, "copying");
	end_copy();
}

static void connecting(void)
{
	const char *values[1] = { ids[0] };
	open_connection();
	PGresult *result = PQexecParams(conn, SELECT, 1, NULL, values, NULL, NULL, 0);
	expect(PQntuples(result) == 1, "one row");
	PQclear(result);
	PQfinish(conn);
}

static const struct workload {
	const char *name;
	void (*turn)(void);
	int operations; /* 0: as many as rows, -1: as many as pending */
	int once;
} workloads[] = {
	{ "select-pipelined", selects, IN_FLIGHT, 0 },
	{ "select-batch", batches, IN_FLIGHT, 0 },
	{ "select-sequential", sequential, 100, 0 },
	{ "rows-untouched", untouched, 0, 0 },
	{ "rows-one-column", one_column, 0, 0 },
	{ "copy-out", copy_out, 0, 0 },
	{ "copy-in", copy_in, 0, 0 },
	{ "copy-in-rows", copy_in_rows, 0, 0 },
	{ "connect", connecting, 1, 0 },
	{ "pending", all_pending, -1, 1 },
	{ NULL, NULL, 0, 0 }
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static long repeat(const struct workload *workload, double seconds)
{
	double start = now();
	long count = 0;
	do {
		workload->turn();
		count++;
	} while (!workload->once && now() - start < seconds);
	return count;
}

static double microseconds(struct timeval time) { return time.tv_sec * 1e6 + time.tv_usec; }

int main(int argc, char **argv)
{
	const struct workload *workload = workloads;
	struct rusage before, after;

	if (argc != 7)
		return 2;
	while (workload->name && strcmp(workload->name, argv[1]))
		workload++;
	if (workload->name == NULL) {
		printf("{\"cannot\":\"not written\"}\n");
		return 0;
	}
	conninfo = argv[2];
	rows = atoi(argv[5]);
	pending = atoi(argv[6]);

	open_connection();
	PGresult *result = PQexec(conn, "SELECT id FROM users ORDER BY id LIMIT 1000");
	expect(PQntuples(result) == IN_FLIGHT, "ids");
	for (int i = 0; i < IN_FLIGHT; i++)
		ids[i] = strdup(PQgetvalue(result, i, 0));
	PQclear(result);
	PQclear(PQprepare(conn, "point", SELECT, 0, NULL));

	if (atof(argv[3]) > 0)
		repeat(workload->once ? workloads : workload, atof(argv[3]));
	getrusage(RUSAGE_SELF, &before);
	double start = now();
	long turns = repeat(workload, atof(argv[4]));
	double seconds = now() - start;
	getrusage(RUSAGE_SELF, &after);
	long operations = workload->operations > 0 ? workload->operations : workload->operations < 0 ? pending : rows;
	printf("{\"operations\":%ld,\"seconds\":%f,\"user\":%.0f,\"system\":%.0f,\"memory\":%ld}\n",
		turns * operations, seconds, microseconds(after.ru_utime) - microseconds(before.ru_utime),
		microseconds(after.ru_stime) - microseconds(before.ru_stime), after.ru_maxrss);
	return 0;
}
