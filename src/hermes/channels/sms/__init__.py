"""SMS and MMS by Twilio."""
