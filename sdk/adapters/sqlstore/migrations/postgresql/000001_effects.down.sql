DROP TABLE laxity_effect_evidence;
DROP TABLE laxity_effects;
