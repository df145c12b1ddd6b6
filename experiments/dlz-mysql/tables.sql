-- The same zones for both servers: test.example with a few records, and dyno.example with host-0 to host-LAST. Each in a database
-- with indexes and in one without (_plain). The file is run at the start of the database; the word LAST is replaced before.

CREATE DATABASE dlz;
USE dlz;

-- The tables of BIND's module.
CREATE TABLE dns_records (zone VARCHAR(255), host VARCHAR(255), type VARCHAR(16), data VARCHAR(255), ttl INT, mx_priority INT, refresh INT, retry INT, expire INT, minimum INT, serial BIGINT, resp_person VARCHAR(255), primary_ns VARCHAR(255), KEY host (host(20)), KEY zone (zone(30)), KEY type (type(8))) ENGINE=InnoDB;
CREATE TABLE xfr_table (zone VARCHAR(255), client VARCHAR(64)) ENGINE=InnoDB;
CREATE TABLE data_count (zone VARCHAR(255) PRIMARY KEY, count BIGINT NOT NULL) ENGINE=InnoDB;

INSERT INTO data_count VALUES ('test.example', 0), ('dyno.example', 0);
INSERT INTO xfr_table VALUES ('test.example', '127.0.0.1'), ('test.example', '10.77.0.1');
INSERT INTO dns_records (zone, host, type, data, ttl, refresh, retry, expire, minimum, serial, resp_person, primary_ns) SELECT zone, '@', 'SOA', CONCAT('ns1.', zone, '.'), 120, 10800, 3600, 604800, 120, 2026010101, CONCAT('hostmaster.', zone, '.'), CONCAT('ns1.', zone, '.') FROM data_count;
INSERT INTO dns_records (zone, host, type, data, ttl) SELECT zone, '@', 'NS', CONCAT('ns1.', zone, '.'), 120 FROM data_count;
INSERT INTO dns_records (zone, host, type, data, ttl) SELECT zone, 'ns1', 'A', '192.0.2.1', 120 FROM data_count;
INSERT INTO dns_records (zone, host, type, data, ttl) SELECT zone, 'www', 'A', '192.0.2.2', 120 FROM data_count;
INSERT INTO dns_records (zone, host, type, data, ttl, mx_priority) SELECT zone, '@', 'MX', CONCAT('www.', zone, '.'), 120, 10 FROM data_count;
INSERT INTO dns_records (zone, host, type, data, ttl) SELECT 'dyno.example', CONCAT('host-', seq), 'A', INET_NTOA(167772160 + seq), 120 FROM seq_0_to_LAST;
ANALYZE TABLE dns_records;

CREATE DATABASE dlz_plain;
USE dlz_plain;

CREATE TABLE dns_records ENGINE=InnoDB SELECT * FROM dlz.dns_records;
CREATE TABLE xfr_table LIKE dlz.xfr_table;
INSERT INTO xfr_table SELECT * FROM dlz.xfr_table;
CREATE TABLE data_count LIKE dlz.data_count;
INSERT INTO data_count SELECT * FROM dlz.data_count;

CREATE DATABASE pdns;
USE pdns;

-- The tables of PowerDNS, as its own schema has them.
CREATE TABLE domains (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255) NOT NULL UNIQUE, master VARCHAR(128) DEFAULT NULL, last_check INT DEFAULT NULL, type VARCHAR(8) NOT NULL, notified_serial INT UNSIGNED DEFAULT NULL, account VARCHAR(40) DEFAULT NULL, options TEXT DEFAULT NULL, catalog VARCHAR(255) DEFAULT NULL) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE records (id BIGINT AUTO_INCREMENT PRIMARY KEY, domain_id INT DEFAULT NULL, name VARCHAR(255) DEFAULT NULL, type VARCHAR(10) DEFAULT NULL, content TEXT DEFAULT NULL, ttl INT DEFAULT NULL, prio INT DEFAULT NULL, disabled TINYINT(1) DEFAULT 0, ordername VARCHAR(255) BINARY DEFAULT NULL, auth TINYINT(1) DEFAULT 1, KEY nametype_index (name, type), KEY domain_id (domain_id), KEY ordername (ordername)) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE supermasters (ip VARCHAR(64) NOT NULL, nameserver VARCHAR(255) NOT NULL, account VARCHAR(40) NOT NULL, PRIMARY KEY (ip, nameserver)) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE comments (id INT AUTO_INCREMENT PRIMARY KEY, domain_id INT NOT NULL, name VARCHAR(255) NOT NULL, type VARCHAR(10) NOT NULL, modified_at INT NOT NULL, account VARCHAR(40), comment TEXT NOT NULL, KEY comments_name_type_idx (name, type)) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE domainmetadata (id INT AUTO_INCREMENT PRIMARY KEY, domain_id INT NOT NULL, kind VARCHAR(32), content TEXT, KEY domainmetadata_idx (domain_id, kind)) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE cryptokeys (id INT AUTO_INCREMENT PRIMARY KEY, domain_id INT NOT NULL, flags INT NOT NULL, active BOOL, published BOOL DEFAULT 1, content TEXT, KEY domainidindex (domain_id)) ENGINE=InnoDB CHARACTER SET latin1;
CREATE TABLE tsigkeys (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255), algorithm VARCHAR(50), secret VARCHAR(255), UNIQUE KEY namealgoindex (name, algorithm)) ENGINE=InnoDB CHARACTER SET latin1;

INSERT INTO domains (name, type) VALUES ('test.example', 'NATIVE'), ('dyno.example', 'NATIVE');
INSERT INTO records (domain_id, name, type, content, ttl, prio) SELECT domains.id, IF(host = '@', zone, CONCAT(host, '.', zone)), dns_records.type, CASE dns_records.type WHEN 'SOA' THEN CONCAT_WS(' ', TRIM(TRAILING '.' FROM data), TRIM(TRAILING '.' FROM resp_person), serial, refresh, retry, expire, minimum) ELSE TRIM(TRAILING '.' FROM data) END, ttl, COALESCE(mx_priority, 0) FROM dlz.dns_records JOIN domains ON domains.name = zone;
ANALYZE TABLE records;

CREATE DATABASE pdns_plain;
USE pdns_plain;

CREATE TABLE domains LIKE pdns.domains;
INSERT INTO domains SELECT * FROM pdns.domains;
CREATE TABLE records ENGINE=InnoDB CHARACTER SET latin1 SELECT * FROM pdns.records;
CREATE TABLE supermasters LIKE pdns.supermasters;
CREATE TABLE comments LIKE pdns.comments;
CREATE TABLE domainmetadata LIKE pdns.domainmetadata;
CREATE TABLE cryptokeys LIKE pdns.cryptokeys;
CREATE TABLE tsigkeys LIKE pdns.tsigkeys;
