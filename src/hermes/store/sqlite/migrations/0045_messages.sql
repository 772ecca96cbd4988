-- Operators list messages by platform, outcome, agent, model and cost, the newest first. Most turns are
-- answered and cost less than a cent: those indexes hold only the others.
CREATE INDEX inbox_platform ON inbox (platform, seq) WHERE control = 0;
CREATE INDEX inbox_outcome ON inbox (outcome, seq) WHERE outcome <> 'answered' AND control = 0;
CREATE INDEX interactions_agent ON interactions (agent, message_id);
CREATE INDEX interactions_model ON interactions (llm_backend, message_id);
CREATE INDEX interactions_cent ON interactions (message_id) WHERE cost_usd >= 0.01;
CREATE INDEX interactions_dime ON interactions (message_id) WHERE cost_usd >= 0.1;
CREATE INDEX interactions_dollar ON interactions (message_id) WHERE cost_usd >= 1.0;
