/*
 * A module for BIND's DLZ interface (`database "dlopen ..."`): zones are in a database of MariaDB or MySQL, which is
 * asked by the statements of the configuration for every query. For measuring that design, and no more: it is no module
 * for production, and neither is the interface.
 *
 *   dlz "mysql" {
 *       database "dlopen dlz_mysql.so {PARAMETERS} {FINDZONE} {LOOKUP} {AUTHORITY} {ALLNODES} {ALLOWXFR} {COUNT}";
 *   };
 *
 *   PARAMETERS  words: socket=PATH user=NAME dbname=NAME connections=N
 *   FINDZONE    any row: the zone $zone$ is here
 *   LOOKUP      rows of ttl, type, data...: the records of $record$ in $zone$, "@" is the name of the zone
 *   AUTHORITY   rows as of LOOKUP: SOA and NS of $zone$; empty: LOOKUP has them
 *   ALLNODES    rows of ttl, type, host, data...: the whole zone $zone$, for transfers
 *   ALLOWXFR    any row: $client$ may have the zone
 *   COUNT       run each time that FINDZONE has found a zone; empty: nothing is counted
 *
 * The last four may be left out. BIND calls several threads into the module at once; each takes a free connection, and
 * waits if there is none. A statement that failed because the connection was lost is tried once more.
 */
#include <mysql.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the interface is, as far as it is used: version 3. */
enum { DLZ_VERSION = 3, DLZ_THREADSAFE = 1 };
enum { SUCCESS = 0, NO_MEMORY = 1, NO_PERMISSION = 6, NOT_FOUND = 23, FAILURE = 25, NOT_IMPLEMENTED = 27 };
enum { LOG_INFO = -1, LOG_ERROR = -4 };

typedef int result_t;
typedef void log_t(int level, const char *format, ...);
typedef result_t putrr_t(void *lookup, const char *type, uint32_t ttl, const char *data);
typedef result_t putnamedrr_t(void *allnodes, const char *name, const char *type, uint32_t ttl, const char *data);

enum statement { FINDZONE, LOOKUP, AUTHORITY, ALLNODES, ALLOWXFR, COUNT, STATEMENTS };

#define MOST_CONNECTIONS 64
#define LONGEST_STATEMENT 4096
#define LONGEST_DATA 4096

struct connection {
	MYSQL *mysql;
	bool is_taken;
};

struct module {
	log_t *log;
	putrr_t *putrr;
	putnamedrr_t *putnamedrr;
	char *parameters;
	char *statements[STATEMENTS];
	const char *socket, *user, *dbname;
	unsigned int connections;
	pthread_mutex_t lock;
	pthread_cond_t is_free;
	struct connection all[MOST_CONNECTIONS];
};

/* The values of $zone$, $record$ and $client$. */
struct values {
	const char *zone, *record, *client;
};

/* ---- connections ---- */

static bool connected(struct module *module, struct connection *connection) {
	MYSQL *mysql = mysql_init(NULL);
	if (mysql == NULL) {
		return false;
	}
	if (mysql_real_connect(mysql, NULL, module->user, NULL, module->dbname, 0, module->socket, 0) == NULL) {
		module->log(LOG_ERROR, "dlz_mysql: cannot connect to %s: %s", module->socket, mysql_error(mysql));
		mysql_close(mysql);
		return false;
	}
	connection->mysql = mysql;
	return true;
}

static struct connection *take(struct module *module) {
	pthread_mutex_lock(&module->lock);
	for (;;) {
		for (unsigned int i = 0; i < module->connections; i++) {
			struct connection *connection = &module->all[i];
			if (!connection->is_taken) {
				connection->is_taken = true;
				pthread_mutex_unlock(&module->lock);
				return connection;
			}
		}
		pthread_cond_wait(&module->is_free, &module->lock);
	}
}

static void give_back(struct module *module, struct connection *connection) {
	pthread_mutex_lock(&module->lock);
	connection->is_taken = false;
	pthread_cond_signal(&module->is_free);
	pthread_mutex_unlock(&module->lock);
}

/* ---- statements ---- */

/* Puts the escaped values into the places of a statement; false if it is too long. */
static bool filled(MYSQL *mysql, const char *text, const struct values *values, char *statement) {
	const struct {
		const char *name, *value;
	} places[] = { { "$zone$", values->zone }, { "$record$", values->record }, { "$client$", values->client } };
	size_t length = 0;
	while (*text != '\0') {
		const char *value = NULL;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			size_t of_name = strlen(places[i].name);
			if (strncmp(text, places[i].name, of_name) == 0) {
				value = places[i].value != NULL ? places[i].value : "";
				text += of_name;
				break;
			}
		}
		/* An escaped text is at most twice as long. */
		size_t needed = value != NULL ? 2 * strlen(value) + 1 : 2;
		if (length + needed > LONGEST_STATEMENT) {
			return false;
		}
		if (value != NULL) {
			length += mysql_real_escape_string(mysql, statement + length, value, strlen(value));
		} else {
			statement[length++] = *text++;
		}
	}
	statement[length] = '\0';
	return true;
}

static bool is_lost(MYSQL *mysql) {
	enum { SERVER_GONE = 2006, SERVER_LOST = 2013 };
	unsigned int error = mysql_errno(mysql);
	return error == SERVER_GONE || error == SERVER_LOST;
}

/*
 * Runs a statement of the configuration. SUCCESS, and its rows, which are NULL where it has none by its kind. The rows
 * are in the memory of this process, so the connection is free for the next one.
 */
static result_t run(struct module *module, enum statement which, const struct values *values, MYSQL_RES **rows) {
	char statement[LONGEST_STATEMENT + 1];
	struct connection *connection = take(module);
	result_t result = FAILURE;
	*rows = NULL;
	for (int tries = 0; tries < 2; tries++) {
		if (connection->mysql == NULL && !connected(module, connection)) {
			break;
		}
		MYSQL *mysql = connection->mysql;
		if (!filled(mysql, module->statements[which], values, statement)) {
			module->log(LOG_ERROR, "dlz_mysql: a statement is too long");
			break;
		}
		if (mysql_query(mysql, statement) == 0) {
			*rows = mysql_store_result(mysql);
			if (*rows != NULL || mysql_field_count(mysql) == 0) {
				result = SUCCESS;
				break;
			}
		}
		module->log(LOG_ERROR, "dlz_mysql: %s: %s", statement, mysql_error(mysql));
		if (!is_lost(mysql)) {
			break;
		}
		mysql_close(mysql);
		connection->mysql = NULL;
	}
	give_back(module, connection);
	return result;
}

static bool is_given(const struct module *module, enum statement which) {
	return module->statements[which] != NULL && module->statements[which][0] != '\0';
}

/* SUCCESS if a statement has a row, NOT_FOUND if it has none. */
static result_t has_row(struct module *module, enum statement which, const struct values *values) {
	MYSQL_RES *rows;
	result_t result = run(module, which, values, &rows);
	if (result == SUCCESS && (rows == NULL || mysql_num_rows(rows) == 0)) {
		result = NOT_FOUND;
	}
	mysql_free_result(rows);
	return result;
}

/* The columns from `first` on, with a space between; false if they are too long. */
static bool joined(MYSQL_ROW row, unsigned int first, unsigned int columns, char *data) {
	size_t length = 0;
	data[0] = '\0';
	for (unsigned int i = first; i < columns; i++) {
		if (row[i] == NULL || row[i][0] == '\0') {
			continue;
		}
		int written = snprintf(data + length, LONGEST_DATA - length, "%s%s", length > 0 ? " " : "", row[i]);
		if (written < 0 || (size_t)written >= LONGEST_DATA - length) {
			return false;
		}
		length += (size_t)written;
	}
	return true;
}

/* Gives BIND the records of a statement; NOT_FOUND if there are none. */
static result_t records(struct module *module, enum statement which, const struct values *values, void *lookup) {
	char data[LONGEST_DATA];
	MYSQL_RES *rows;
	result_t result = run(module, which, values, &rows);
	if (result != SUCCESS) {
		return result;
	}
	result = NOT_FOUND;
	unsigned int columns = rows != NULL ? mysql_num_fields(rows) : 0;
	MYSQL_ROW row;
	while (columns >= 3 && (row = mysql_fetch_row(rows)) != NULL) {
		if (row[0] == NULL || row[1] == NULL || !joined(row, 2, columns, data)) {
			result = FAILURE;
			break;
		}
		result = module->putrr(lookup, row[1], (uint32_t)strtoul(row[0], NULL, 10), data);
		if (result != SUCCESS) {
			module->log(LOG_ERROR, "dlz_mysql: %s %s: BIND refuses the record", row[1], data);
			break;
		}
	}
	mysql_free_result(rows);
	return result;
}

/* ---- what BIND calls ---- */

int dlz_version(unsigned int *flags) {
	*flags |= DLZ_THREADSAFE;
	return DLZ_VERSION;
}

void dlz_destroy(void *data) {
	struct module *module = data;
	for (unsigned int i = 0; i < module->connections; i++) {
		if (module->all[i].mysql != NULL) {
			mysql_close(module->all[i].mysql);
		}
	}
	for (int i = 0; i < STATEMENTS; i++) {
		free(module->statements[i]);
	}
	free(module->parameters);
	pthread_cond_destroy(&module->is_free);
	pthread_mutex_destroy(&module->lock);
	free(module);
}

/* Reads `socket=/run/x user=root`; the words are parts of module->parameters. */
static bool read_parameters(struct module *module, const char *text) {
	module->parameters = strdup(text);
	char *rest = module->parameters, *word;
	while (rest != NULL && (word = strsep(&rest, " \t")) != NULL) {
		char *value = strchr(word, '=');
		if (word[0] == '\0') {
			continue;
		}
		if (value == NULL) {
			return false;
		}
		*value++ = '\0';
		if (strcmp(word, "socket") == 0) {
			module->socket = value;
		} else if (strcmp(word, "user") == 0) {
			module->user = value;
		} else if (strcmp(word, "dbname") == 0) {
			module->dbname = value;
		} else if (strcmp(word, "connections") == 0) {
			module->connections = (unsigned int)strtoul(value, NULL, 10);
		} else {
			return false;
		}
	}
	return module->socket != NULL && module->dbname != NULL && module->connections >= 1 &&
	       module->connections <= MOST_CONNECTIONS;
}

/* What BIND offers: pairs of a name and a function. */
static void read_helpers(struct module *module, va_list pairs) {
	const char *name;
	while ((name = va_arg(pairs, const char *)) != NULL) {
		void *function = va_arg(pairs, void *);
		if (strcmp(name, "log") == 0) {
			module->log = (log_t *)function;
		} else if (strcmp(name, "putrr") == 0) {
			module->putrr = (putrr_t *)function;
		} else if (strcmp(name, "putnamedrr") == 0) {
			module->putnamedrr = (putnamedrr_t *)function;
		}
	}
}

result_t dlz_create(const char *name, unsigned int argc, char *argv[], void **data, ...) {
	struct module *module = calloc(1, sizeof(*module));
	if (module == NULL) {
		return NO_MEMORY;
	}
	pthread_mutex_init(&module->lock, NULL);
	pthread_cond_init(&module->is_free, NULL);
	va_list pairs;
	va_start(pairs, data);
	read_helpers(module, pairs);
	va_end(pairs);
	if (module->log == NULL || module->putrr == NULL || module->putnamedrr == NULL) {
		dlz_destroy(module);
		return FAILURE;
	}
	/* argv: the path of this file, the parameters, the statements. */
	if (argc < 4 || argc > 2 + STATEMENTS || !read_parameters(module, argv[1])) {
		module->log(LOG_ERROR,
			    "dlz_mysql: %s needs {socket=PATH user=NAME dbname=NAME connections=1..%d} {findzone} {lookup}, "
			    "and may have {authority} {allnodes} {allowxfr} {count}",
			    name, MOST_CONNECTIONS);
		module->connections = 0;
		dlz_destroy(module);
		return FAILURE;
	}
	for (unsigned int i = 2; i < argc; i++) {
		module->statements[i - 2] = strdup(argv[i]);
	}
	for (unsigned int i = 0; i < module->connections; i++) {
		if (!connected(module, &module->all[i])) {
			dlz_destroy(module);
			return FAILURE;
		}
	}
	module->log(LOG_INFO, "dlz_mysql: %u connections to %s of %s, %s", module->connections, module->dbname,
		    module->socket, is_given(module, COUNT) ? "with counting" : "without counting");
	*data = module;
	return SUCCESS;
}

/* BIND asks for each name from the longest to the shortest, until a zone is found. */
result_t dlz_findzonedb(void *data, const char *name, void *methods, void *clientinfo) {
	(void)methods;
	(void)clientinfo;
	struct module *module = data;
	struct values values = { .zone = name };
	result_t result = has_row(module, FINDZONE, &values);
	if (result == SUCCESS && is_given(module, COUNT)) {
		MYSQL_RES *rows;
		result = run(module, COUNT, &values, &rows);
		mysql_free_result(rows);
	}
	return result;
}

result_t dlz_lookup(const char *zone, const char *name, void *data, void *lookup, void *methods, void *clientinfo) {
	(void)methods;
	(void)clientinfo;
	struct values values = { .zone = zone, .record = name };
	return records(data, LOOKUP, &values, lookup);
}

result_t dlz_authority(const char *zone, void *data, void *lookup) {
	struct values values = { .zone = zone };
	return is_given(data, AUTHORITY) ? records(data, AUTHORITY, &values, lookup) : NOT_IMPLEMENTED;
}

result_t dlz_allowzonexfr(void *data, const char *name, const char *client) {
	struct values values = { .zone = name, .client = client };
	if (!is_given(data, ALLOWXFR)) {
		return NO_PERMISSION;
	}
	result_t zone = has_row(data, FINDZONE, &values);
	if (zone != SUCCESS) {
		return zone;
	}
	return has_row(data, ALLOWXFR, &values) == SUCCESS ? SUCCESS : NO_PERMISSION;
}

result_t dlz_allnodes(const char *zone, void *data, void *allnodes) {
	struct module *module = data;
	struct values values = { .zone = zone };
	char joined_data[LONGEST_DATA];
	MYSQL_RES *rows;
	if (!is_given(module, ALLNODES)) {
		return NOT_IMPLEMENTED;
	}
	result_t result = run(module, ALLNODES, &values, &rows);
	unsigned int columns = rows != NULL ? mysql_num_fields(rows) : 0;
	MYSQL_ROW row;
	while (result == SUCCESS && columns >= 4 && (row = mysql_fetch_row(rows)) != NULL) {
		if (row[0] == NULL || row[1] == NULL || row[2] == NULL || !joined(row, 3, columns, joined_data)) {
			result = FAILURE;
			break;
		}
		result = module->putnamedrr(allnodes, row[2], row[1], (uint32_t)strtoul(row[0], NULL, 10), joined_data);
	}
	mysql_free_result(rows);
	return result;
}
