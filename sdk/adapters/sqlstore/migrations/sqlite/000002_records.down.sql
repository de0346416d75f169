DROP TABLE laxity_records;
